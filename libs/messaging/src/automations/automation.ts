import { InvalidStateError } from '#kernel';
import {
  ALLOWED_STATUSES,
  AUTOMATION_ACTIONS,
  type AutomationAction,
  type AutomationStatus,
  type TriggerType,
} from './automation-status.js';

export {
  AUTOMATION_STATUSES,
  type AutomationStatus,
  TRIGGER_TYPES,
  type TriggerType,
} from './automation-status.js';

/** What its author says of an automation beside its steps. */
export interface AutomationFields {
  readonly name: string;
  readonly description: string | null;
  readonly triggerType: TriggerType | null;
  readonly triggerTopicId: string | null;
}

/** The steps and the ways between them, as JSON. */
export interface AutomationContent {
  readonly nodes: string | null;
  readonly edges: string | null;
  readonly nodeCount: number;
}

/** All of an automation that is written down in its own row. */
export interface AutomationState extends AutomationFields {
  readonly id: string;
  readonly number: number;
  readonly automationKey: string;
  readonly status: AutomationStatus;
  readonly nodes: string | null;
  readonly edges: string | null;
  readonly nodeCount: number | null;
  /** What people enter; null before the first activation. */
  readonly versionId: number | null;
  /** Its author has changed what the version says. */
  readonly isRevised: boolean;
  /** Archived, and the people inside are still to be sent off. */
  readonly isClosing: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const AUTOMATION_KEY = /^[A-Z][A-Z0-9]{1,7}-[1-9]\d{0,18}$/;

/** Whether an automation can have this key at all: what can't is not looked up. */
export function isAutomationKey(text: string): boolean {
  return AUTOMATION_KEY.test(text);
}

/** What happens to people after something happened to them: written, activated, paused, archived. */
export class Automation {
  #state: AutomationState;

  constructor(state: AutomationState) {
    this.#state = state;
  }

  get state(): AutomationState {
    return this.#state;
  }

  /** Throws `InvalidStateError` unless the automation's state allows it. */
  refuseUnlessAllowed(action: AutomationAction): void {
    const { status } = this.#state;
    const allowed = ALLOWED_STATUSES[action];
    if (allowed.includes(status)) return;
    const message = `The automation ${AUTOMATION_ACTIONS[action]} while it is ${status}.`;
    throw new InvalidStateError(message, status, allowed);
  }

  /** Takes changes over; another trigger only while it does not run. */
  describe(changes: Partial<AutomationFields>, now: Date): void {
    const { triggerType, triggerTopicId } = this.#state;
    const next = { ...this.#state, ...changes };
    const isOther = next.triggerType !== triggerType || next.triggerTopicId !== triggerTopicId;
    if (isOther) this.refuseUnlessAllowed('changeTrigger');
    if (Object.keys(changes).length === 0) return;
    this.#state = { ...next, isRevised: next.isRevised || isOther, updatedAt: now };
  }

  /** Other steps. People inside go on in those that they began with. */
  replaceContent(content: AutomationContent, now: Date): void {
    this.refuseUnlessAllowed('changeContent');
    const { nodes, edges } = this.#state;
    const isOther = content.nodes !== nodes || content.edges !== edges;
    this.#state = {
      ...this.#state,
      ...content,
      isRevised: this.#state.isRevised || isOther,
      updatedAt: now,
    };
  }

  /** People come in from now on, into this version; those inside go on. */
  activate(versionId: number, now: Date): void {
    this.refuseUnlessAllowed('activate');
    this.#state = { ...this.#state, status: 'ACTIVE', versionId, isRevised: false, updatedAt: now };
  }

  /** Nobody comes in, and people inside stay where they are. */
  pause(now: Date): void {
    this.refuseUnlessAllowed('pause');
    this.#state = { ...this.#state, status: 'PAUSED', updatedAt: now };
  }

  /** For good: people inside are sent off. */
  archive(now: Date): void {
    this.refuseUnlessAllowed('archive');
    this.#state = { ...this.#state, status: 'ARCHIVED', isClosing: true, updatedAt: now };
  }

  /** Throws `InvalidStateError` while it runs, or anybody is inside. */
  refuseUnlessDeletable(peopleInside: number): void {
    this.refuseUnlessAllowed('delete');
    if (peopleInside === 0) return;
    const { status } = this.#state;
    const message = `The automation cannot be deleted while ${peopleInside === 1 ? 'somebody is' : `${peopleInside} people are`} inside.`;
    throw new InvalidStateError(message, status, ['DRAFT', 'ARCHIVED']);
  }
}
