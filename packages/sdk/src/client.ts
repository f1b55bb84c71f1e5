import type { Answer } from './operations.js';
import * as resources from './resources.js';
import { type CallOptions, type MailwrightOptions, Transport } from './transport.js';

/** The Mailwright API with one key: one project, live or test. */
export class Mailwright {
  readonly #transport: Transport;
  readonly topics: resources.Topics;
  readonly subscribers: resources.Subscribers;
  readonly imports: resources.Imports;
  readonly consents: resources.Consents;
  readonly customFields: resources.CustomFields;
  readonly segments: resources.Segments;
  readonly suppressions: resources.Suppressions;
  readonly campaigns: resources.Campaigns;
  readonly reports: resources.Reports;
  readonly automations: resources.Automations;
  readonly sendingDomain: resources.SendingDomain;
  readonly billing: resources.Billing;
  readonly credits: resources.Credits;
  readonly testInbox: resources.TestInbox;

  constructor(options: MailwrightOptions) {
    const transport = new Transport(options);
    this.#transport = transport;
    this.topics = new resources.Topics(transport);
    this.subscribers = new resources.Subscribers(transport);
    this.imports = new resources.Imports(transport);
    this.consents = new resources.Consents(transport);
    this.customFields = new resources.CustomFields(transport);
    this.segments = new resources.Segments(transport);
    this.suppressions = new resources.Suppressions(transport);
    this.campaigns = new resources.Campaigns(transport);
    this.reports = new resources.Reports(transport);
    this.automations = new resources.Automations(transport);
    this.sendingDomain = new resources.SendingDomain(transport);
    this.billing = new resources.Billing(transport);
    this.credits = new resources.Credits(transport);
    this.testInbox = new resources.TestInbox(transport);
  }

  /** The project of the key. */
  project(options?: CallOptions): Promise<Answer<'getProject'>> {
    return this.#transport.call('getProject', options);
  }
}
