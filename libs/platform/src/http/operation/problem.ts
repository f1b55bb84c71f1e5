import { boundedErrors } from '#kernel';

export interface ProblemDetails {
  /** The fault of this request, for the caller's eyes. */
  readonly detail?: string;
  /** Extra members of the body, such as `requiredScope`. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Headers that belong to the status, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal by the HTTP edge itself; the domain's are `DomainError`s. */
export class ProblemError extends Error {
  constructor(
    readonly slug: ProblemSlug,
    readonly details: ProblemDetails = {},
  ) {
    super(details.detail ?? slug);
  }
}

/** A 400 that names every field that is wrong: dotted path → message. */
export function invalidRequest(errors: Readonly<Record<string, string>>): ProblemError {
  return new ProblemError('validation-error', {
    detail: 'One or more fields are not valid.',
    members: { errors: boundedErrors(errors) },
  });
}

/** One type of problem: what its page says. RFC 9457 §4. */
export interface ProblemType {
  readonly status: number;
  readonly title: string;
  /** When it occurs, for someone who looks at it for the first time. */
  readonly description: string;
  /** Advice to the caller. */
  readonly remedy: string;
}

/** Every type of problem that the API answers with, by slug: the last part of the problem's `type`. */
export const PROBLEM_TYPES = {
  'malformed-json': {
    status: 400,
    title: 'The body is not JSON',
    description: 'The body of the request could not be read as JSON in UTF-8.',
    remedy: 'Send one complete JSON object. A JSON library writes it safely; string concatenation does not.',
  },
  'validation-error': {
    status: 400,
    title: 'The request is not valid',
    description:
      'A field of the body, a parameter of the path or query, or a header does not have the form it must have.',
    remedy:
      'Read `errors`: it names every field that is wrong and says what is wrong with it. Correct them and send the request again.',
  },
  'confirmation-required': {
    status: 400,
    title: 'The operation must be confirmed',
    description: 'The operation could do harm and needs an explicit confirmation in a header.',
    remedy: 'Send the header that the operation documents, e.g. `X-Confirm-Unsuppress: true`.',
  },
  unauthorized: {
    status: 401,
    title: 'A valid API key is required',
    description:
      'The request has no API key, two different ones, or one that is not valid, not any more or not yet.',
    remedy:
      'Send the key in `X-API-Key` or as `Authorization: Bearer`. If it was revoked or has expired, make a new one.',
  },
  'insufficient-scope': {
    status: 403,
    title: 'The API key lacks a scope',
    description: 'The API key is valid, but it may not do this.',
    remedy: 'Use a key that has the scope named in `requiredScope`. Write does not imply read.',
  },
  'network-not-allowed': {
    status: 403,
    title: 'The API key may not be used from this network',
    description:
      'The API key is valid, but it has `allowedNetworks`, and the client’s address is in none of them.',
    remedy:
      'Ask from a network that the key allows, or have a key with `keys:manage` change them. If nobody of yours asked, the key is in other hands: rotate it.',
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    description:
      'There is no such path, or the resource does not exist in the project and environment of this key.',
    remedy: 'Check the path and the key. Live and test keys see separate data.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not allowed',
    description: 'The path exists, but not with this method.',
    remedy: 'Use one of the methods in the `Allow` header.',
  },
  'not-acceptable': {
    status: 406,
    title: 'The representation is not available',
    description: 'The `Accept` header excludes the only media type in which this operation answers.',
    remedy: 'Accept `application/json`, or leave the header out.',
  },
  'payload-too-large': {
    status: 413,
    title: 'The body is too large',
    description: 'The body of the request is larger than this operation takes.',
    remedy: 'Send less at once: split the request, or use an import for many subscribers.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The media type is not supported',
    description: 'The body has a `Content-Type` or `Content-Encoding` that this operation does not read.',
    remedy: 'Send JSON with `Content-Type: application/json`, not compressed.',
  },
  'already-exists': {
    status: 409,
    title: 'It exists already',
    description: 'A resource with the same identity exists.',
    remedy: 'Read or change the existing one instead of creating it.',
  },
  'invalid-state': {
    status: 409,
    title: 'The state does not allow this',
    description: 'The resource is in a state that does not allow the operation.',
    remedy:
      '`currentState` tells where the resource is and `allowedStates` from where the operation is possible.',
  },
  'last-managing-key': {
    status: 409,
    title: 'It is the last key that may manage keys',
    description:
      'Without this key no other of its environment has `keys:manage`, and none could be made by the API.',
    remedy: 'Make another key with `keys:manage` first, or rotate this one.',
  },
  'pre-send-rejected': {
    status: 409,
    title: 'The campaign did not pass the pre-send checks',
    description: 'A critical check failed, so that the campaign is not sent.',
    remedy: '`checks` lists what failed. Correct it and try again.',
  },
  'schedule-missing': {
    status: 409,
    title: 'There is no time to send at',
    description: 'The campaign has no `scheduledAt` or `scheduledAtLocal`, or it is in the past.',
    remedy: 'Set one of them to a time in the future first.',
  },
  suppressed: {
    status: 409,
    title: 'The address is suppressed',
    description: 'The address must not get mail: its owner left, complained, or it bounced.',
    remedy: 'Leave it. If the owner asked to come back, remove the suppression first.',
  },
  'not-subscribed': {
    status: 409,
    title: 'The address is not subscribed to the topic',
    description:
      'A message with `topicKey` is a notification that its reader may leave: it goes to who is subscribed to the topic, confirmed where the topic asks for that.',
    remedy:
      'Leave it. Sign the address up first, if its owner wants that. Mail that they expect without having subscribed has no `topicKey`.',
  },
  unsubscribed: {
    status: 409,
    title: 'The address left the topic',
    description:
      'Its owner unsubscribed from a topic that the request would subscribe it to. That holds for the address, also after the subscriber was deleted, for 365 days.',
    remedy: 'Leave it. If the owner asked to come back, send `"resubscribe": true`.',
  },
  'in-use': {
    status: 409,
    title: 'It is in use',
    description: 'Something that runs or is scheduled needs the resource.',
    remedy: '`usedBy` names what uses it. Stop or change that, then try again.',
  },
  'idempotency-in-flight': {
    status: 409,
    title: 'The same request is still running',
    description: 'A request with this `Idempotency-Key` has not finished yet.',
    remedy: 'Wait a moment and send the same request again: it gets the answer of the first one.',
  },
  'domain-validation': {
    status: 422,
    title: 'The project does not allow this',
    description: 'The request is well-formed, but it does not fit the data or rules of the project.',
    remedy: 'Read `errors`: it names every field and says what does not fit.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'The idempotency key belongs to another request',
    description: 'This `Idempotency-Key` was used within 24 hours for a request with another body.',
    remedy: 'Use a new key for each new request and the same key only to repeat one.',
  },
  'rate-limited': {
    status: 429,
    title: 'Too many requests',
    description: 'The limit for this minute is used up.',
    remedy: 'Wait as many seconds as `Retry-After` says. `X-RateLimit-Remaining` tells in time.',
  },
  'internal-error': {
    status: 500,
    title: 'Something went wrong on our side',
    description: 'An error that we did not foresee. It is in our log under the `requestId`.',
    remedy: 'Try again later. If it stays, report the `requestId`.',
  },
  unavailable: {
    status: 503,
    title: 'Not available at the moment',
    description: 'A part that this operation needs did not answer in time.',
    remedy: 'Try again after as many seconds as `Retry-After` says.',
  },
} as const satisfies Record<string, ProblemType>;

export type ProblemSlug = keyof typeof PROBLEM_TYPES;

/** True for the name of a type of problem. */
export function isProblemSlug(text: string): text is ProblemSlug {
  return Object.hasOwn(PROBLEM_TYPES, text);
}
