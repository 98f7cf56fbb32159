// The end of an axis that a few extreme values cannot flatten.

/** With fewer values above 0 than this, nothing shows what is usual. */
const ENOUGH_VALUES = 5;
/** All but this share of the values are usual. */
const RARE = 0.05;
/** The axis ends before the highest value only if that is so many times as high as the usual ones. */
const EXTREME = 3;
/** The end of the axis, in the highest of the usual values. */
const ABOVE_USUAL = 1.5;

/**
 * The end of an axis from 0 that shows these values, which are above 0: the highest of them, or less if that is more
 * than `EXTREME` times as high as 95 % of the others. 0 without values.
 */
function axisEnd(values) {
  const ascending = Float64Array.from(values).sort();
  const highest = ascending.at(-1) ?? 0;
  if (ascending.length < ENOUGH_VALUES) return highest;
  const rare = Math.max(Math.floor(ascending.length * RARE), 1);
  const usual = ascending[ascending.length - 1 - rare];
  return highest > EXTREME * usual ? ABOVE_USUAL * usual : highest;
}
