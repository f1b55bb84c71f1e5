/** Who is billed: one organisation with its projects. */
export interface Tenant {
  readonly id: number;
  /** 2–16 of A–Z and 0–9, a letter first. */
  readonly tenantKey: string;
  readonly name: string;
  readonly createdAt: Date;
}

const TENANT_KEY = /^[A-Z][A-Z0-9]{1,15}$/;
const MAX_NAME_LENGTH = 200;

/** What is wrong with a new tenant, by field; empty when nothing is. */
export function tenantFaults(tenant: {
  readonly tenantKey: string;
  readonly name: string;
}): Record<string, string> {
  const faults: Record<string, string> = {};
  if (!TENANT_KEY.test(tenant.tenantKey)) {
    faults['tenantKey'] = 'must be 2 to 16 capital letters and digits, beginning with a letter';
  }
  const fault = nameFault(tenant.name);
  if (fault !== null) faults['name'] = fault;
  return faults;
}

/** What is wrong with a name that people read, or null. */
export function nameFault(name: string, maxLength = MAX_NAME_LENGTH): string | null {
  if (name.trim() === '') return 'must not be blank';
  return name.length > maxLength ? `must be at most ${maxLength} characters` : null;
}
