import { PROBLEM_TYPES, type ProblemSlug } from '#platform/http';

const MEMBERS: Readonly<Partial<Record<ProblemSlug, Readonly<Record<string, unknown>>>>> = {
  'validation-error': {
    errors: { email: 'is required', 'consent.source': 'must be at most 100 characters' },
  },
  'domain-validation': { errors: { 'topicKeys[0]': 'is not a topic of this project' } },
  'insufficient-scope': { requiredScope: 'subscribers:write' },
  'invalid-state': { currentState: 'SENT', allowedStates: ['DRAFT', 'SCHEDULED', 'FAILED'] },
  'in-use': { usedBy: [{ kind: 'campaign', key: 'ACME-001', name: 'Autumn' }], usedByCount: 1 },
  'pre-send-rejected': {
    checks: [
      {
        code: 'recipients',
        severity: 'CRITICAL',
        result: 'FAIL',
        message: 'Nobody would receive this campaign.',
      },
    ],
  },
};

/** A problem of every type, by slug, as components of the OpenAPI document. */
export function problemExamples(publicUrl: string): Record<ProblemSlug, { summary: string; value: unknown }> {
  const slugs = Object.keys(PROBLEM_TYPES) as ProblemSlug[];
  const examples = slugs.map((slug) => [slug, exampleOf(slug, publicUrl)] as const);
  return Object.fromEntries(examples) as Record<ProblemSlug, { summary: string; value: unknown }>;
}

function exampleOf(slug: ProblemSlug, publicUrl: string): { summary: string; value: unknown } {
  const { status, title, description } = PROBLEM_TYPES[slug];
  const value = {
    type: `${publicUrl}/problems/${slug}`,
    title,
    status,
    detail: description,
    instance: '/api/v1/subscribers',
    timestamp: '2026-12-01T09:00:00.000Z',
    requestId: '019aa3b5-7c1e-7d55-9c3e-2f6b8a4d1e90',
    ...MEMBERS[slug],
  };
  return { summary: title, value };
}
