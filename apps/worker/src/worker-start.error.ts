/** The worker cannot do its work as it is configured; the message says why, for the operator. */
export class WorkerStartError extends Error {}
