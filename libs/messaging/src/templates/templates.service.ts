import { Injectable } from '@nestjs/common';
import { UsageCatalogueService } from '#audience';
import {
  Clock,
  DomainValidationError,
  NotFoundError,
  type Page,
  type PageRequest,
  type ProjectScope,
  UnavailableError,
} from '#kernel';
import { Database } from '#platform';
import type { Faults } from '../content/document/content-document.js';
import type { TemplateKind } from '../content/merge/template-variables.js';
import { type TemplateVariable } from '../content/merge/template-variables.js';
import { expectContent, hashOf } from '../content/processes/content-processes.service.js';
import {
  type NewTemplate,
  revisedContent,
  type Template,
  type TemplateChanges,
  type TemplateContent,
  type TemplateVersion,
} from './template.js';
import { draftFaults, keysIn, type Part, type Resolved, TemplateResolver } from './template-parts.js';
import { sampleData, TemplateReviewsService } from './template-reviews.service.js';
import {
  type TemplateFilter,
  TemplateRepository,
  type TemplateRow,
  type TemplateVersionRow,
} from './template.repository.js';

/** A template as it is to be put in use, or one that uses it and follows. */
interface Publication {
  readonly part: Part;
  readonly version: number;
  readonly resolved: Resolved;
}

interface Plan {
  readonly template: Template;
  readonly isNewVersion: boolean;
  readonly own: Publication;
  readonly users: readonly Publication[];
  readonly parts: ReadonlyMap<string, Part>;
}

/** Result of a look at content that is not kept. */
export interface ValidatedContent {
  readonly variables: readonly TemplateVariable[];
  /** Values to try it with. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly faults: Faults;
  readonly removed: readonly string[];
}

/** Times that a publication is checked anew since something that it depends on was published meanwhile. */
const ATTEMPTS = 3;

/** Writes templates and puts their versions in use. */
@Injectable()
export class TemplatesService {
  constructor(
    private readonly database: Database,
    private readonly templates: TemplateRepository,
    private readonly reviews: TemplateReviewsService,
    private readonly usage: UsageCatalogueService,
    private readonly clock: Clock,
  ) {}

  /** Newest first, without their content. */
  list(scope: ProjectScope, request: PageRequest, filter: TemplateFilter): Promise<Page<TemplateRow>> {
    return this.templates.list(scope, request, filter);
  }

  /** Finds one by key or alias. Throws NotFoundError. */
  get(scope: ProjectScope, keyOrAlias: string): Promise<Template> {
    return this.templates.named(scope, keyOrAlias);
  }

  /** Adds a draft. Throws DomainValidationError with every fault of it, AliasTakenError. */
  create(scope: ProjectScope, fields: NewTemplate): Promise<Template> {
    return this.database.transaction(scope, async () => {
      await this.#refuseBadDraft(scope, { templateKey: '', kind: fields.kind }, revisedContent(fields));
      const template = await this.templates.add(scope, fields, this.clock.now());
      await this.templates.flush();
      expectContent(this.database);
      return template;
    });
  }

  /** Changes the draft; name, alias and metadata at once. Throws as `create` does, and NotFoundError. */
  revise(scope: ProjectScope, keyOrAlias: string, changes: TemplateChanges): Promise<Template> {
    return this.database.transaction(scope, async () => {
      const template = await this.templates.lock(scope, keyOrAlias);
      await this.#refuseBadDraft(scope, template, revisedContent(changes, template.draft));
      template.revise(changes, await this.templates.published(scope, template), this.clock.now());
      await this.templates.flush();
      expectContent(this.database);
      return template;
    });
  }

  /** Adds a template with another's draft. Throws NotFoundError, AliasTakenError. */
  duplicate(
    scope: ProjectScope,
    keyOrAlias: string,
    { name, alias }: { readonly name?: string | undefined; readonly alias?: string | null | undefined },
  ): Promise<Template> {
    return this.database.transaction(scope, async () => {
      const { kind, draft, metadata, ...source } = await this.templates.named(scope, keyOrAlias);
      const copy = { ...draft, kind, metadata, name: name ?? source.name, alias };
      const template = await this.templates.add(scope, copy, this.clock.now());
      await this.templates.flush();
      return template;
    });
  }

  /** Throws NotFoundError, InUseError while mail is to be made of it: see `USES`. */
  remove(scope: ProjectScope, keyOrAlias: string): Promise<void> {
    return this.database.transaction(scope, async () => {
      await this.usage.close(scope);
      await this.templates.lockPublished(scope);
      const template = await this.templates.lock(scope, keyOrAlias);
      const { id, templateKey } = template;
      await this.usage.refuseIfUsed(scope, 'The template', { kind: 'template', id, templateKey });
      await this.templates.remove(template);
    });
  }

  /** Newest first. Throws NotFoundError. */
  versions(scope: ProjectScope, keyOrAlias: string, request: PageRequest): Promise<Page<TemplateVersionRow>> {
    return this.templates.versions(scope, keyOrAlias, request);
  }

  /** Throws NotFoundError. */
  version(scope: ProjectScope, keyOrAlias: string, version: number): Promise<TemplateVersion> {
    return this.database.transaction(scope, async () => {
      const found = await this.templates.version(
        scope,
        await this.templates.named(scope, keyOrAlias),
        version,
      );
      if (found === null) throw new NotFoundError();
      return found;
    });
  }

  /**
   * Puts the draft in use, or a version, and has the published templates that use it follow. Throws NotFoundError,
   * DomainValidationError with every fault of it and of those, UnavailableError while others publish what it depends on.
   */
  async publish(scope: ProjectScope, keyOrAlias: string, version: number | null): Promise<Template> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const plan = await this.database.transaction(scope, async () =>
        this.#plan(scope, await this.templates.named(scope, keyOrAlias), version),
      );
      // Without a lock: it takes as long as the content makes it.
      await this.#refuseFaulty(scope, plan);
      const done = await this.database.transaction(scope, async () => {
        await this.templates.lockPublished(scope);
        const template = await this.templates.lock(scope, keyOrAlias);
        const current = await this.#plan(scope, template, version);
        return digestOf(current) === digestOf(plan) ? this.#carryOut(scope, current) : null;
      });
      if (done !== null) return done;
    }
    throw new UnavailableError('The template, or what it depends on, is being changed.', 1);
  }

  /** Reviews content as `publish` would, without keeping it. */
  async validate(
    scope: ProjectScope,
    { kind, ...changes }: TemplateChanges & { readonly kind: TemplateKind },
  ): Promise<ValidatedContent> {
    const content = revisedContent(changes);
    const formal = draftFaults(kind, content);
    if (Object.keys(formal).length > 0) return { variables: [], data: {}, faults: formal, removed: [] };
    const parts = await this.database.transaction(scope, () => this.templates.partsOf(scope, content));
    const { faults, found, removed } = await this.reviews.of(
      scope,
      { templateKey: '', kind, content },
      parts,
    );
    const declared = new Map(content.variables.map((variable) => [variable.name, variable]));
    const variables = found.map(({ name, type, required }) => declared.get(name) ?? { name, type, required });
    return { variables, data: sampleData(content.variables, found), faults, removed };
  }

  async #refuseBadDraft(
    scope: ProjectScope,
    { templateKey, kind }: Pick<Template, 'templateKey' | 'kind'>,
    content: TemplateContent,
  ): Promise<void> {
    const formal = draftFaults(kind, content);
    if (Object.keys(formal).length > 0) throw new DomainValidationError(formal);
    if (keysIn(content).length === 0) return;
    const parts = await this.templates.partsOf(scope, content);
    const { faults } = new TemplateResolver(parts).resolve({ templateKey, kind, content });
    if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
  }

  async #plan(scope: ProjectScope, template: Template, wanted: number | null): Promise<Plan> {
    const { id, templateKey, kind, draft, draftVersion, publishedVersion } = template;
    const isDraft = wanted === null || wanted === draftVersion;
    const content = isDraft ? draft : await this.templates.version(scope, template, wanted);
    if (content === null) throw new DomainValidationError({ version: 'is no version of this template' });
    const version = isDraft ? (draftVersion ?? publishedVersion ?? 1) : wanted;
    const part = { id, templateKey, kind, isPublished: true, content: revisedContent(content) };
    let parts = await this.templates.partsOf(scope, part.content, new Map([[templateKey, part]]));
    const users = kind === 'PARTIAL' ? await this.templates.usersOf(scope, id) : [];
    for (const user of users) parts = await this.templates.partsOf(scope, user.content, parts);
    const resolver = new TemplateResolver(parts);
    return {
      template,
      isNewVersion: isDraft && draftVersion !== null,
      own: { part, version, resolved: resolver.resolve(part) },
      users: users.map((user) => ({ part: user, version: user.version, resolved: resolver.resolve(user) })),
      parts,
    };
  }

  async #refuseFaulty(scope: ProjectScope, { own, users }: Plan): Promise<void> {
    const errors: Record<string, string> = {};
    for (const { part, resolved } of [own, ...users]) {
      const { faults } = await this.reviews.ofResolved(scope, part, resolved);
      const prefix = part === own.part ? '' : `${part.templateKey}.`;
      for (const [path, fault] of Object.entries(faults)) errors[`${prefix}${path}`] = fault;
    }
    if (Object.keys(errors).length === 0) return;
    throw new DomainValidationError(errors, 'The template has faults, or templates that use it would have.');
  }

  async #carryOut(
    scope: ProjectScope,
    { template, isNewVersion, own, users, parts }: Plan,
  ): Promise<Template> {
    const now = this.clock.now();
    const { part, version } = own;
    if (isNewVersion) await this.templates.addVersion(template, { version, content: part.content }, now);
    template.publish(version, part.content, await this.#addContent(scope, own, now), now);
    await this.templates.setUses(
      template,
      keysIn(part.content).flatMap((key) => parts.get(key)?.id ?? []),
    );
    for (const user of users) {
      const contentId = await this.#addContent(scope, user, now);
      if (contentId !== null) await this.templates.follow(scope, user.part.id, contentId);
    }
    await this.templates.flush();
    return template;
  }

  /** Null for a PARTIAL, which no mail is made of. */
  async #addContent(
    scope: ProjectScope,
    { part: { id: templateId, kind }, version, resolved: { content } }: Publication,
    now: Date,
  ): Promise<string | null> {
    return kind === 'PARTIAL'
      ? null
      : this.templates.addContent(scope, { templateId, version, content }, now);
  }
}

/** All that a publication was checked for, to compare. */
const digestOf = ({ own, users, isNewVersion }: Plan): string =>
  hashOf(
    [own, ...users].map(({ part, version, resolved }) => [
      part.id,
      part.content,
      version,
      isNewVersion,
      resolved,
    ]),
  );
