// Written by `npm run openapi` from docs/operator-openapi.json: change the operation in its controller instead.
import type { Answer, Body, Item } from './operations.js';
import type { List } from './pages.js';
import { type Filters, Resource } from './resource.js';
import type { CallOptions, ListOptions, ReadOptions } from './transport.js';

class Tenants extends Resource {
  /** List tenants by key. */
  all(filters: Filters<'listTenants'> = {}, options?: ListOptions): List<Item<'listTenants'>> {
    return this.listOf<'listTenants'>('GET /tenants', filters, options);
  }

  /** Make a tenant on the free plan. */
  create(body: Body<'createTenant'>, options?: CallOptions): Promise<Answer<'createTenant'>> {
    return this.transport.call<'createTenant'>('POST /tenants', { ...options, json: body });
  }

  /** Get a tenant. */
  get(tenantKey: string, options?: ReadOptions): Promise<Answer<'getTenant'>> {
    return this.transport.call<'getTenant'>('GET /tenants/{tenantKey}', { ...options, path: { tenantKey } });
  }
}

class Projects extends Resource {
  /** List projects by tenant and key. */
  all(filters: Filters<'listProjects'> = {}, options?: ListOptions): List<Item<'listProjects'>> {
    return this.listOf<'listProjects'>('GET /projects', filters, options);
  }

  /** Make a project with its live and test environments. */
  create(body: Body<'createProject'>, options?: CallOptions): Promise<Answer<'createProject'>> {
    return this.transport.call<'createProject'>('POST /projects', { ...options, json: body });
  }

  /** Get a project with its settings. */
  get(projectId: number, options?: ReadOptions): Promise<Answer<'getOperatedProject'>> {
    return this.transport.call<'getOperatedProject'>('GET /projects/{projectId}', {
      ...options,
      path: { projectId },
    });
  }

  /** Change the settings of a project. */
  update(
    projectId: number,
    body: Body<'changeProject'>,
    options?: CallOptions,
  ): Promise<Answer<'changeProject'>> {
    return this.transport.call<'changeProject'>('PATCH /projects/{projectId}', {
      ...options,
      path: { projectId },
      json: body,
    });
  }

  /** Change for how long the mails and events of a project are kept. */
  updateRetention(
    projectId: number,
    body: Body<'changeProjectRetention'>,
    options?: CallOptions,
  ): Promise<Answer<'changeProjectRetention'>> {
    return this.transport.call<'changeProjectRetention'>('PATCH /projects/{projectId}/retention', {
      ...options,
      path: { projectId },
      json: body,
    });
  }

  /** Resume the sending of a project that was stopped for bounces or complaints. */
  resumeSending(projectId: number, options?: CallOptions): Promise<Answer<'resumeProjectSending'>> {
    return this.transport.call<'resumeProjectSending'>('POST /projects/{projectId}/resume-sending', {
      ...options,
      path: { projectId },
    });
  }
}

class ApiKeys extends Resource {
  /** List API keys of all projects, newest first. */
  all(filters: Filters<'listProjectKeys'> = {}, options?: ListOptions): List<Item<'listProjectKeys'>> {
    return this.listOf<'listProjectKeys'>('GET /api-keys', filters, options);
  }

  /** Make an API key of a project. */
  create(body: Body<'createProjectKey'>, options?: CallOptions): Promise<Answer<'createProjectKey'>> {
    return this.transport.call<'createProjectKey'>('POST /api-keys', { ...options, json: body });
  }

  /** Get an API key. */
  get(id: string, options?: ReadOptions): Promise<Answer<'getProjectKey'>> {
    return this.transport.call<'getProjectKey'>('GET /api-keys/{id}', { ...options, path: { id } });
  }

  /** Revoke an API key. */
  revoke(id: string, options?: CallOptions): Promise<Answer<'revokeProjectKey'>> {
    return this.transport.call<'revokeProjectKey'>('DELETE /api-keys/{id}', { ...options, path: { id } });
  }

  /** Make a successor of an API key. */
  rotate(
    id: string,
    body: Body<'rotateProjectKey'>,
    options?: CallOptions,
  ): Promise<Answer<'rotateProjectKey'>> {
    return this.transport.call<'rotateProjectKey'>('POST /api-keys/{id}/rotate', {
      ...options,
      path: { id },
      json: body,
    });
  }
}

class AuditLog extends Resource {
  /** List what the operator changed, or was refused, and read of people. */
  all(
    filters: Filters<'listOperatorAuditLog'> = {},
    options?: ListOptions,
  ): List<Item<'listOperatorAuditLog'>> {
    return this.listOf<'listOperatorAuditLog'>('GET /audit-log', filters, options);
  }
}

class Plans extends Resource {
  /** List the plans on offer, with their prices. */
  all(options?: ReadOptions): Promise<Answer<'listOfferedPlans'>> {
    return this.transport.call<'listOfferedPlans'>('GET /plans', options);
  }
}

class Subscriptions extends Resource {
  /** Get the subscription of a tenant. */
  get(tenantKey: string, options?: ReadOptions): Promise<Answer<'getTenantSubscription'>> {
    return this.transport.call<'getTenantSubscription'>('GET /tenants/{tenantKey}/subscription', {
      ...options,
      path: { tenantKey },
    });
  }

  /** Change the subscription of a tenant. */
  update(
    tenantKey: string,
    body: Body<'changeTenantSubscription'>,
    options?: CallOptions,
  ): Promise<Answer<'changeTenantSubscription'>> {
    return this.transport.call<'changeTenantSubscription'>('PATCH /tenants/{tenantKey}/subscription', {
      ...options,
      path: { tenantKey },
      json: body,
    });
  }

  /** Cancel the subscription of a tenant. */
  cancel(
    tenantKey: string,
    body: Body<'cancelTenantSubscription'>,
    options?: CallOptions,
  ): Promise<Answer<'cancelTenantSubscription'>> {
    return this.transport.call<'cancelTenantSubscription'>('POST /tenants/{tenantKey}/subscription/cancel', {
      ...options,
      path: { tenantKey },
      json: body,
    });
  }
}

class Invoices extends Resource {
  /** List the invoices of a tenant, newest first. */
  all(
    tenantKey: string,
    filters: Filters<'listTenantInvoices'> = {},
    options?: ListOptions,
  ): List<Item<'listTenantInvoices'>> {
    return this.listOf<'listTenantInvoices'>('GET /tenants/{tenantKey}/invoices', filters, options, {
      tenantKey,
    });
  }

  /** Mark an invoice as paid. */
  pay(invoiceNumber: string, options?: CallOptions): Promise<Answer<'payInvoice'>> {
    return this.transport.call<'payInvoice'>('POST /invoices/{invoiceNumber}/pay', {
      ...options,
      path: { invoiceNumber },
    });
  }

  /** Void an invoice. */
  void(invoiceNumber: string, options?: CallOptions): Promise<Answer<'voidInvoice'>> {
    return this.transport.call<'voidInvoice'>('POST /invoices/{invoiceNumber}/void', {
      ...options,
      path: { invoiceNumber },
    });
  }
}

class Credits extends Resource {
  /** Get the AI credits of a tenant. */
  balance(tenantKey: string, options?: ReadOptions): Promise<Answer<'getTenantCredits'>> {
    return this.transport.call<'getTenantCredits'>('GET /tenants/{tenantKey}/credits', {
      ...options,
      path: { tenantKey },
    });
  }

  /** Grant a tenant AI credits that do not expire, or adjust them. */
  add(
    tenantKey: string,
    body: Body<'addTenantCredits'>,
    options?: CallOptions,
  ): Promise<Answer<'addTenantCredits'>> {
    return this.transport.call<'addTenantCredits'>('POST /tenants/{tenantKey}/credits', {
      ...options,
      path: { tenantKey },
      json: body,
    });
  }
}

class SendingDomains extends Resource {
  /** List sending domains of all projects, newest first. */
  all(
    filters: Filters<'listOperatedDomains'> = {},
    options?: ListOptions,
  ): List<Item<'listOperatedDomains'>> {
    return this.listOf<'listOperatedDomains'>('GET /sending-domains', filters, options);
  }

  /** Get the sending domain of an environment, with its DNS records. */
  get(environmentId: number, options?: ReadOptions): Promise<Answer<'getOperatedDomain'>> {
    return this.transport.call<'getOperatedDomain'>('GET /sending-domains/{environmentId}', {
      ...options,
      path: { environmentId },
    });
  }

  /** Stop the mail of a sending domain. */
  suspend(
    environmentId: number,
    body: Body<'suspendDomain'>,
    options?: CallOptions,
  ): Promise<Answer<'suspendDomain'>> {
    return this.transport.call<'suspendDomain'>('POST /sending-domains/{environmentId}/suspend', {
      ...options,
      path: { environmentId },
      json: body,
    });
  }

  /** Resume a suspended sending domain. */
  resume(environmentId: number, options?: CallOptions): Promise<Answer<'resumeDomain'>> {
    return this.transport.call<'resumeDomain'>('POST /sending-domains/{environmentId}/resume', {
      ...options,
      path: { environmentId },
    });
  }
}

class Overview extends Resource {
  /** Get the state of the installation at a glance. */
  get(options?: ReadOptions): Promise<Answer<'getOverview'>> {
    return this.transport.call<'getOverview'>('GET /overview', options);
  }
}

class Checks extends Resource {
  /** Compare stored figures with the rows that they stand for. */
  run(name: string, options?: CallOptions): Promise<Answer<'runCheck'>> {
    return this.transport.call<'runCheck'>('POST /checks/{name}', { ...options, path: { name } });
  }
}

/** The operations of the operator’s API, by what they are about. */
export abstract class OperatorResources extends Resource {
  readonly tenants = new Tenants(this.transport);
  readonly projects = new Projects(this.transport);
  readonly apiKeys = new ApiKeys(this.transport);
  readonly auditLog = new AuditLog(this.transport);
  readonly plans = new Plans(this.transport);
  readonly subscriptions = new Subscriptions(this.transport);
  readonly invoices = new Invoices(this.transport);
  readonly credits = new Credits(this.transport);
  readonly sendingDomains = new SendingDomains(this.transport);
  readonly overview = new Overview(this.transport);
  readonly checks = new Checks(this.transport);
}
