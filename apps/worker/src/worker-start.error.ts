/** The worker cannot start as configured; the message tells the operator why. */
export class WorkerStartError extends Error {}
