import type { Answer, Body, Item } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

export class Automations extends Resource {
  all(filters: Filters<'listAutomations'> = {}): List<Item<'listAutomations'>> {
    return this.listOf('listAutomations', filters);
  }

  create(body: Body<'createAutomation'>, options?: CallOptions): Promise<Answer<'createAutomation'>> {
    return this.transport.call('createAutomation', { ...options, json: body });
  }

  get(automationId: string, options?: CallOptions): Promise<Answer<'getAutomation'>> {
    return this.transport.call('getAutomation', { ...options, path: { automationId } });
  }

  update(
    automationId: string,
    body: Body<'updateAutomation'>,
    options?: CallOptions,
  ): Promise<Answer<'updateAutomation'>> {
    return this.transport.call('updateAutomation', { ...options, path: { automationId }, json: body });
  }

  updateContent(
    automationId: string,
    body: Body<'updateAutomationContent'>,
    options?: CallOptions,
  ): Promise<Answer<'updateAutomationContent'>> {
    return this.transport.call('updateAutomationContent', { ...options, path: { automationId }, json: body });
  }

  delete(automationId: string, options?: CallOptions): Promise<Answer<'deleteAutomation'>> {
    return this.transport.call('deleteAutomation', { ...options, path: { automationId } });
  }

  activate(automationId: string, options?: CallOptions): Promise<Answer<'activateAutomation'>> {
    return this.transport.call('activateAutomation', { ...options, path: { automationId } });
  }

  pause(automationId: string, options?: CallOptions): Promise<Answer<'pauseAutomation'>> {
    return this.transport.call('pauseAutomation', { ...options, path: { automationId } });
  }

  /** Lets one subscriber in by hand. */
  enter(
    automationId: string,
    body: Body<'enterAutomation'>,
    options?: CallOptions,
  ): Promise<Answer<'enterAutomation'>> {
    return this.transport.call('enterAutomation', { ...options, path: { automationId }, json: body });
  }

  executions(
    automationId: string,
    filters: Filters<'listAutomationExecutions'> = {},
  ): List<Item<'listAutomationExecutions'>> {
    return this.listOf('listAutomationExecutions', filters, { automationId });
  }
}
