export type OutgoingHttpFault =
  | 'url'
  | 'address'
  | 'resolution'
  | 'redirects'
  | 'timeout'
  | 'too-large'
  | 'connection';

/** A request that got no answer. `address` and `url` are final: the same request would be refused again. */
export class OutgoingHttpError extends Error {
  constructor(
    readonly fault: OutgoingHttpFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
