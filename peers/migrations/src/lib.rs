//! Programs on other TCP/IP stacks before and after their move to `recoup-stack`, and a stack over WireGuard: see `programs/`.
