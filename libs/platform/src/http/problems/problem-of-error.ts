import { HttpException } from '@nestjs/common';
import { ThrottlerException } from '@nestjs/throttler';
import { DomainError, type DomainErrorCode } from '#kernel';
import { ProblemError } from './problem-error.js';
import type { ProblemSlug } from './problem-types.js';
import { isUnavailability } from '../../lifecycle/unavailability.js';
import { isVanishedReference } from './vanished-reference.js';

const RETRY_AFTER_SECONDS = 1;

/** The statuses with which Nest and Fastify refuse a request before it reaches a handler. */
const SLUG_OF_STATUS: Readonly<Record<number, ProblemSlug>> = {
  400: 'malformed-json',
  401: 'unauthorized',
  403: 'insufficient-scope',
  404: 'not-found',
  405: 'method-not-allowed',
  406: 'not-acceptable',
  413: 'payload-too-large',
  415: 'unsupported-media-type',
  503: 'unavailable',
};

/**
 * What an error means to the caller; everything unforeseen is an `internal-error` without detail. `namesResource`: the
 * path names what the request is about.
 */
export function problemOf(error: unknown, namesResource: boolean): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof DomainError) return problemOfDomainError(error);
  if (error instanceof ThrottlerException) return new ProblemError('rate-limited', { detail: error.message });
  const slug = SLUG_OF_STATUS[statusOf(error)];
  if (slug === 'unavailable' || (slug === undefined && isUnavailability(error))) return unavailable();
  // Where the body alone can have named it, the same request sent again is told so in the problem that is right.
  if (isVanishedReference(error)) return namesResource ? new ProblemError('not-found') : unavailable();
  return new ProblemError(slug ?? 'internal-error');
}

function problemOfDomainError(error: DomainError): ProblemError {
  const slug: DomainErrorCode & ProblemSlug = error.code;
  const { retryAfterSeconds, ...members } = error.members;
  const mayRetry = slug === 'unavailable' || slug === 'rate-limited';
  return new ProblemError(slug, {
    detail: error.message,
    members,
    ...(mayRetry ? { headers: { 'retry-after': retryAfter(retryAfterSeconds) } } : {}),
  });
}

function unavailable(): ProblemError {
  return new ProblemError('unavailable', { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } });
}

/** Whole seconds, one at least (RFC 9110 §10.2.3). */
function retryAfter(seconds: unknown): string {
  return String(Math.max(RETRY_AFTER_SECONDS, typeof seconds === 'number' ? Math.ceil(seconds) : 0));
}

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  const isFastifys = error instanceof Error && 'code' in error && String(error.code).startsWith('FST_');
  return isFastifys && 'statusCode' in error ? Number(error.statusCode) : 500;
}
