/// Declares an enum of unit variants with their names, for example `Up = "up"`, and adds `ALL`, in the order of the
/// enum, and `name`.
///
/// ```
/// recoup_units::named! {
///     #[derive(Clone, Copy)]
///     enum Side {
///         Client = "client",
///         Server = "server",
///     }
/// }
/// assert_eq!(Side::ALL.map(Side::name), ["client", "server"]);
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $enum:ident { $($(#[$about:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        $vis enum $enum {
            $($(#[$about])* $variant,)*
        }

        impl $enum {
            /// All of them, in the order of the enum.
            $vis const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The name in reports and on the command line.
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}
