import { DomainError, DomainValidationError, lengthOf } from '#kernel';

export interface NewTenant {
  readonly tenantKey: string;
  readonly name: string;
}

/** The key that a new tenant asks for is another's. */
export class TenantAlreadyExistsError extends DomainError {
  override readonly code = 'already-exists';

  constructor(readonly tenantKey: string) {
    super(`A tenant with the key ${tenantKey} already exists.`);
  }
}

const TENANT_KEY = /^[A-Z][A-Z0-9]{1,15}$/;
const MAX_NAME_LENGTH = 200;
const CONTROL = /\p{Cc}/u;

/** The billed organisation, with its projects. */
export class Tenant {
  readonly id!: number;
  /** 2–16 of A–Z and 0–9, a letter first. */
  readonly tenantKey: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;

  /** Throws `DomainValidationError`. */
  constructor({ tenantKey, name }: NewTenant, now: Date) {
    const faults = tenantFaults({ tenantKey, name });
    if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
    this.tenantKey = tenantKey;
    this.name = name.trim();
    this.createdAt = now;
    this.updatedAt = now;
  }
}

/** Faults of a new tenant, by field. */
function tenantFaults({ tenantKey, name }: NewTenant): Record<string, string> {
  const faults: Record<string, string> = {};
  const wrongKey = tenantKeyFault(tenantKey);
  if (wrongKey !== null) faults['tenantKey'] = wrongKey;
  const fault = nameFault(name);
  if (fault !== null) faults['name'] = fault;
  return faults;
}

/** Fault of a tenant's key, or null. */
export function tenantKeyFault(text: string): string | null {
  return TENANT_KEY.test(text) ? null : 'must be 2 to 16 capital letters and digits, beginning with a letter';
}

/** Fault of a name that people read in lists, headers and terminals, or null. */
export function nameFault(name: string, maxLength = MAX_NAME_LENGTH): string | null {
  return CONTROL.test(name) ? 'must not contain control characters' : textFault(name, maxLength);
}

/** Fault of a text that must be there, or null. */
export function textFault(text: string, maxLength: number): string | null {
  return text.trim() === '' ? 'must not be blank' : lengthFault(text, maxLength);
}

export function lengthFault(text: string, maxLength: number): string | null {
  return lengthOf(text) > maxLength ? `must be at most ${maxLength} characters` : null;
}
