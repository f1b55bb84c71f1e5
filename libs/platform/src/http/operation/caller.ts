import type { IncomingHttpHeaders } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ApiScope, OperatorScope, ProjectScope } from '#kernel';
import type { ProblemError } from './problem.js';

/** The owner of a valid key, and its rights. */
export interface AuthenticatedCaller {
  readonly keyId: string;
  /** INSTALLATION of an operator key. */
  readonly scope: ProjectScope;
  readonly scopes: ReadonlySet<ApiScope | OperatorScope>;
  /** Null: the operator's default for all keys. */
  readonly rateLimitPerMinute: number | null;
  /** False of a client's address that the key may not be used from. */
  isAllowedFrom(this: void, address: string): boolean;
}

/** Knows the API keys and the operator's. The HTTP kit asks it; the access context answers. */
export abstract class ApiKeyAuthenticator {
  /** Resolves to null for a key that is unknown, revoked or expired: the caller must not learn which. */
  abstract authenticate(key: string): Promise<AuthenticatedCaller | null>;

  /** Called for each request that the key was let in with. */
  abstract used(caller: Pick<AuthenticatedCaller, 'keyId' | 'scope'>): void;
}

/** The key that a request carries: none, exactly one, or two that differ. */
export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'contradiction' };

/** RFC 9110 §11.1: the scheme is case-insensitive. What follows counts as a key, whatever it looks like. */
const BEARER = /^bearer +(\S.*)$/i;

/** Reads the key from `X-API-Key` or `Authorization: Bearer`. */
export function readCredentials(headers: IncomingHttpHeaders): Credentials {
  const own = String(headers['x-api-key'] ?? '').trim();
  const bearer = BEARER.exec((headers.authorization ?? '').trim())?.[1] ?? '';
  if (own !== '' && bearer !== '' && own !== bearer) return { kind: 'contradiction' };
  const key = own === '' ? bearer : own;
  return key === '' ? { kind: 'none' } : { kind: 'key', key };
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The owner of the request's key; null on routes without a key. */
    caller: AuthenticatedCaller | null;
    /** The type of problem that it was answered with. */
    problem: string | null;
    /** It was counted against a limit. */
    isCounted: boolean;
    /** The client's IP address, behind a trusted proxy the one that it reports. */
    readonly clientAddress: string;
    /** The body as it came, where it was read as a whole. */
    rawBody: Buffer | null;
    /** Fault of a body that could not be read; the guards look at the key first. */
    bodyFault: ProblemError | null;
    /** SHA-256 of a streamed body, known when the handler has read all of it. */
    bodyHash: Promise<Buffer> | null;
  }
}

function requestOf(context: ExecutionContext): FastifyRequest {
  return context.switchToHttp().getRequest<FastifyRequest>();
}

function callerOf(context: ExecutionContext): AuthenticatedCaller {
  const { caller } = requestOf(context);
  if (caller === null) throw new Error('This route is not behind a key.');
  return caller;
}

/** The `AuthenticatedCaller` of the request. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): AuthenticatedCaller =>
  callerOf(context),
);

/** The `ProjectScope` that the request's key belongs to. */
export const InScope = createParamDecorator(
  (_data: unknown, context: ExecutionContext): ProjectScope => callerOf(context).scope,
);

/** The client's IP address, behind a trusted proxy the one that it reports. */
export const ClientAddress = createParamDecorator(
  (_data: unknown, context: ExecutionContext): string => requestOf(context).clientAddress,
);
