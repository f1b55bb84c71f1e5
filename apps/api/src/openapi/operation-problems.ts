import { PROBLEM_TYPES, type ProblemSlug } from '#platform/http';
import type { OperationEntry } from './document.js';

/** Every operation refuses unknown query parameters. */
const ALWAYS: readonly ProblemSlug[] = [
  'validation-error',
  'unauthorized',
  'rate-limited',
  'internal-error',
  'unavailable',
];
const WITH_BODY: readonly ProblemSlug[] = ['malformed-json', 'payload-too-large', 'unsupported-media-type'];
const WITH_IDEMPOTENCY: readonly ProblemSlug[] = ['idempotency-in-flight', 'idempotency-key-reused'];

/** Requests, as `post /api/v1/topics`, that problems of the domain can answer; those without a line here can answer any. */
const REQUESTS_OF: Readonly<Partial<Record<ProblemSlug, RegExp>>> = {
  'already-exists': /^post .*\/(?:subscribers|consents|executions)$|^(?:post|patch) .*\/sending-domain$/,
  'in-use': /^(?:patch|delete) .*\/(?:topics|segments|custom-fields|sending-domain)\b/,
  'invalid-state': /\/(?:campaigns|automations|custom-fields|sending-domain)\b|\/resend$/,
  'pre-send-rejected': /\/campaigns\/.*\/(?:preview|test|schedule|send|resume|retry-failed)$/,
  'schedule-missing': /\/schedule$/,
  suppressed: /^post .*\/(?:subscribers|consents|resend)$/,
};

/** The problem types that an operation can answer with: those that its shape implies and those that it declares. */
export function problemSlugs(path: string, method: string, operation: OperationEntry): ProblemSlug[] {
  const { parameters = [], requestBody, responses } = operation;
  const slugs = new Set<ProblemSlug>(ALWAYS);
  const add = (more: readonly ProblemSlug[]): void => more.forEach((slug) => slugs.add(slug));
  if (typeof operation['x-required-scope'] === 'string') add(['insufficient-scope']);
  if (Object.values(responses).some(({ content }) => content !== undefined)) add(['not-acceptable']);
  if (requestBody !== undefined) add([...WITH_BODY, 'domain-validation']);
  // A POST or DELETE without a body may be sent one all the same.
  if (method === 'post' || method === 'delete') add(WITH_BODY);
  if (method === 'post') add(WITH_IDEMPOTENCY);
  if (path.includes('{')) add(['not-found']);
  for (const status of operation['x-problems'] ?? []) add(slugsOf(status, parameters.some(isConfirmation)));
  const isOfThis = (slug: ProblemSlug): boolean => REQUESTS_OF[slug]?.test(`${method} ${path}`) ?? true;
  return [...slugs]
    .filter(isOfThis)
    .sort((one, other) => PROBLEM_TYPES[one].status - PROBLEM_TYPES[other].status);
}

/** All domain problems of a status, without those of idempotency keys, which only POST can have. */
function slugsOf(status: number, asksForConfirmation: boolean): ProblemSlug[] {
  return (Object.keys(PROBLEM_TYPES) as ProblemSlug[]).filter((slug) => {
    if (slug === 'malformed-json' || slug.startsWith('idempotency-')) return false;
    if (slug === 'confirmation-required' && !asksForConfirmation) return false;
    return PROBLEM_TYPES[slug].status === status;
  });
}

function isConfirmation({ in: place, name }: { readonly in: string; readonly name: string }): boolean {
  return place === 'header' && name.toLowerCase().startsWith('x-confirm-');
}
