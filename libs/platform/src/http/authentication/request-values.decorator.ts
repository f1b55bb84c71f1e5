import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ProjectScope } from '#kernel';
import type { AuthenticatedCaller } from './authenticated-caller.js';
import type { ProblemError } from '../problems/problem-error.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whom the request's key speaks for; null on routes without a key. */
    caller: AuthenticatedCaller | null;
    /** Whether it was counted against a limit. */
    isCounted: boolean;
    /** The client's IP address: who connects, or whom trusted proxies name. `ip` is always who connects. */
    readonly clientAddress: string;
    /** The body as it came, of bodies that were read as a whole. */
    rawBody: Buffer | null;
    /** Why the body could not be read; the guards look at the key first. */
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
