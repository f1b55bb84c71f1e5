/** What an API key may do: the 19 scopes, complete. Each operation needs exactly one; write does not imply read. */
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
] as const;

export type ApiScope = (typeof API_SCOPES)[number];
