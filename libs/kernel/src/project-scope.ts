export type Environment = 'LIVE' | 'TEST';

/**
 * The rows that a piece of work may see: those of one environment of one project, whose id each row carries. It comes from the
 * API key, a signed token or a job's own row, never from a request's body, and is the first argument of every query.
 */
export interface ProjectScope {
  readonly tenantId: number;
  readonly projectId: number;
  readonly environmentId: number;
  readonly environment: Environment;
}

/** The scope of the operator's own requests: their audit log, idempotency keys and log belong to no environment of a project. */
export const INSTALLATION: ProjectScope = Object.freeze({
  tenantId: 0,
  projectId: 0,
  environmentId: 0,
  environment: 'LIVE',
});

/** An idempotent request, whose process may die after it has done its work and before its answer is kept. */
export interface RepeatableRequest {
  /** 32 octets, the same in all of its runs. */
  readonly digest: Buffer;
  /** A run before this one died, or ended with a failure of ours. */
  readonly isTakenOver: boolean;
}

/** Rights of API keys, complete. Each operation needs exactly one; write does not imply read. */
export const API_SCOPES = [
  'subscribers:read',
  'subscribers:write',
  'topics:read',
  'topics:write',
  'segments:read',
  'segments:write',
  'campaigns:read',
  'campaigns:write',
  'automations:read',
  'automations:write',
  'custom_fields:read',
  'custom_fields:write',
  'sending_domains:read',
  'sending_domains:write',
  'consents:manage',
  'suppressions:manage',
  'reports:read',
  'billing:read',
  'credits:read',
  'relays:read',
  'relays:write',
  'messages:send',
  'messages:read',
  'templates:read',
  'templates:write',
  'media:read',
  'media:write',
  'webhooks:read',
  'webhooks:write',
  'project:write',
  'keys:manage',
  'audit:read',
] as const;

export type ApiScope = (typeof API_SCOPES)[number];

/** The beginning of operator keys. */
export const OPERATOR_KEY_PREFIX = 'mw_op_';

/** Rights of operator keys, complete. */
export const OPERATOR_SCOPES = [
  'tenants:read',
  'tenants:write',
  'projects:read',
  'projects:write',
  'keys:read',
  'keys:write',
  'billing:read',
  'billing:write',
  'domains:read',
  'domains:write',
  'system:read',
  'audit:read',
] as const;

export type OperatorScope = (typeof OPERATOR_SCOPES)[number];
