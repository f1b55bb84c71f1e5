import { DomainError, InvalidStateError, type Metadata, type MetadataPatch, patchedMetadata } from '#kernel';

export const AUTOMATION_STATUSES = ['DRAFT', 'ACTIVE', 'PAUSED', 'ARCHIVED'] as const;
export type AutomationStatus = (typeof AUTOMATION_STATUSES)[number];

/** States of a subscriber's run, and of a step that it took. */
export type RunStatus = 'ACTIVE' | 'COMPLETED' | 'CONVERTED' | 'FAILED' | 'CANCELLED';
export type StepStatus = 'DONE' | 'SKIPPED' | 'FAILED';

export const TRIGGER_TYPES = [
  'subscriber_joins_list',
  'segment_entered',
  'segment_left',
  'custom_event',
  'manual',
] as const;
export type TriggerType = (typeof TRIGGER_TYPES)[number];

const policy = (refusal: string, ...allowed: readonly AutomationStatus[]) => ({ refusal, allowed });

/** Actions on an automation: the words of a refusal, and the statuses in which each is allowed. */
const ACTIONS = {
  activate: policy('cannot be activated', 'DRAFT', 'PAUSED'),
  pause: policy('cannot be paused', 'ACTIVE'),
  archive: policy('cannot be archived', 'DRAFT', 'PAUSED'),
  changeContent: policy('cannot have its steps replaced', 'DRAFT', 'PAUSED'),
  changeTrigger: policy('cannot have its trigger changed', 'DRAFT', 'PAUSED'),
  delete: policy('cannot be deleted', 'DRAFT', 'PAUSED', 'ARCHIVED'),
  enter: policy('cannot be entered', 'ACTIVE'),
};
type AutomationAction = keyof typeof ACTIONS;

/** The fields that the author sets beside the steps. */
export type AutomationFields = Readonly<
  Pick<Automation, 'name' | 'description' | 'triggerType' | 'triggerTopicId'>
>;

/** A new automation; what is left out is empty. */
export type NewAutomation = Pick<AutomationFields, 'name'> & AutomationChanges;

/** Changes; absent fields stay, and absent keys of metadata. */
export type AutomationChanges = Partial<AutomationFields> & { readonly metadata?: MetadataPatch | undefined };

const AUTOMATION_KEY = /^[A-Z][A-Z0-9]{1,7}-[1-9]\d{0,18}$/;

/** True for text in the form of an automation's key. */
export function isAutomationKey(text: string): boolean {
  return AUTOMATION_KEY.test(text);
}

/** Throws `InvalidStateError` unless the action is allowed in this status. */
export function refuseUnlessAllowed(action: AutomationAction, status: AutomationStatus): void {
  const { allowed, refusal } = ACTIONS[action];
  if (allowed.includes(status)) return;
  const message = `The automation ${refusal} while it is ${status}.`;
  throw new InvalidStateError(message, status, allowed);
}

/** Steps that subscribers take after a trigger. */
export class Automation {
  readonly id: string;
  readonly number!: number;
  readonly environmentId: number;
  readonly automationKey: string;
  name: string;
  description: string | null = null;
  status: AutomationStatus = 'DRAFT';
  triggerType: TriggerType | null = null;
  triggerTopicId: string | null = null;
  metadata: Metadata = {};
  /** The steps and the edges between them, as JSON. */
  nodes: string | null = null;
  edges: string | null = null;
  nodeCount: number | null = null;
  /** The version that people enter; null before the first activation. */
  versionId: number | null = null;
  /** The author has changed it since that version. */
  isRevised = true;
  /** It is archived, and its active runs are still to be ended. */
  isClosing = false;
  readonly createdAt: Date;
  updatedAt: Date;
  /** The API does not show it from then on. */
  deletedAt: Date | null = null;

  constructor(
    { id, environmentId, automationKey }: Pick<Automation, 'id' | 'environmentId' | 'automationKey'>,
    fields: NewAutomation,
    now: Date,
  ) {
    this.id = id;
    this.environmentId = environmentId;
    this.automationKey = automationKey;
    this.name = fields.name;
    Object.assign(this, fields, { metadata: patchedMetadata({}, fields.metadata) });
    this.createdAt = now;
    this.updatedAt = now;
  }

  /** Changes the fields that are given. Throws `InvalidStateError` for another trigger while it is ACTIVE, DomainValidationError. */
  describe(changes: AutomationChanges, now: Date): void {
    const { triggerType = this.triggerType, triggerTopicId = this.triggerTopicId } = changes;
    const isOther = triggerType !== this.triggerType || triggerTopicId !== this.triggerTopicId;
    if (isOther) refuseUnlessAllowed('changeTrigger', this.status);
    if (Object.keys(changes).length === 0) return;
    const metadata = patchedMetadata(this.metadata, changes.metadata);
    Object.assign(this, changes, { metadata, isRevised: this.isRevised || isOther, updatedAt: now });
  }

  /** Replaces the steps. Active runs go on in the version that they entered. Throws `InvalidStateError`. */
  replaceContent(content: Pick<Automation, 'nodes' | 'edges' | 'nodeCount'>, now: Date): void {
    refuseUnlessAllowed('changeContent', this.status);
    const isOther = content.nodes !== this.nodes || content.edges !== this.edges;
    Object.assign(this, content, { isRevised: this.isRevised || isOther, updatedAt: now });
  }

  /** People enter this version from now on, and active runs go on. Throws `InvalidStateError`. */
  activate(versionId: number, now: Date): void {
    this.become('ACTIVE', 'activate', now);
    this.versionId = versionId;
    this.isRevised = false;
  }

  /** Nobody enters, and active runs stay at their step. Throws `InvalidStateError`. */
  pause(now: Date): void {
    this.become('PAUSED', 'pause', now);
  }

  /** Active runs are to be ended; it is never activated again. Throws `InvalidStateError`. */
  archive(now: Date): void {
    this.become('ARCHIVED', 'archive', now);
    this.isClosing = true;
  }

  /** Throws `InvalidStateError` while it is ACTIVE or has active runs. */
  delete(activeRuns: number, now: Date): void {
    refuseUnlessAllowed('delete', this.status);
    if (activeRuns > 0) {
      const runs = activeRuns === 1 ? 'a run is' : `${activeRuns} runs are`;
      const message = `The automation cannot be deleted while ${runs} active.`;
      throw new InvalidStateError(message, this.status, ['DRAFT', 'ARCHIVED']);
    }
    this.status = 'ARCHIVED';
    this.deletedAt = now;
  }

  private become(status: AutomationStatus, action: AutomationAction, now: Date): void {
    refuseUnlessAllowed(action, this.status);
    this.status = status;
    this.updatedAt = now;
  }
}

/** A fault that keeps an automation from being activated. */
export interface AutomationCheck {
  /** `trigger`, `graph`, or the type of the step. */
  readonly code: string;
  readonly severity: 'CRITICAL';
  readonly result: 'FAIL';
  /** `nodes[3].config.duration`, `triggerType` … */
  readonly path: string;
  readonly message: string;
}

/** Content of a step that does not arrive as it was written. */
export interface AutomationWarning {
  /** `nodes[3].config.contentJson.blocks[0].html` */
  readonly path: string;
  readonly message: string;
}

/** The automation cannot be activated; `checks` names all faults. */
export class IncompleteAutomationError extends DomainError {
  override readonly code = 'invalid-state';

  constructor(
    private readonly status: AutomationStatus,
    readonly checks: readonly AutomationCheck[],
  ) {
    const [first] = checks;
    const others = checks.length > 1 ? ` (and ${checks.length - 1} more)` : '';
    super(`The automation cannot be activated: ${first?.message ?? ''}${others}`);
  }

  override get members(): Readonly<Record<string, unknown>> {
    return {
      currentState: this.status,
      allowedStates: ACTIONS.activate.allowed,
      checks: this.checks,
    };
  }
}

/** The automation's `reEntry` does not admit the subscriber again. */
export class AlreadyInsideError extends DomainError {
  override readonly code = 'already-exists';

  constructor() {
    super('The subscriber is or was in this automation, and its reEntry does not let them in again.');
  }
}
