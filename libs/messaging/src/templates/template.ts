import { isDeepStrictEqual } from 'node:util';
import { DomainError, type Metadata, type MetadataPatch, patched, patchedMetadata } from '#kernel';
import { TEMPLATE_KEY } from '../content/document/content-document.js';
import type { TemplateKind } from '../content/merge/template-variables.js';
import type { TemplateVariable } from '../content/merge/template-variables.js';

/** Content in one language. */
export interface TemplateTranslation {
  readonly subject: string | null;
  readonly previewText: string | null;
  readonly contentJson: string | null;
  readonly contentText: string | null;
}

/** All that is published as one. */
export interface TemplateContent extends TemplateTranslation {
  /** Reason why mail of it may be sent without consent; of a MESSAGE alone. */
  readonly purpose: string | null;
  /** Keyed by BCP 47 locale. */
  readonly translations: Readonly<Record<string, TemplateTranslation>>;
  readonly variables: readonly TemplateVariable[];
  /** Key of the PARTIAL that it is put into. */
  readonly layout: string | null;
}

const CONTENT_FIELDS = [
  'purpose',
  'subject',
  'previewText',
  'contentJson',
  'contentText',
  'translations',
  'variables',
  'layout',
] as const satisfies readonly (keyof TemplateContent)[];

const NO_CONTENT: TemplateContent = {
  purpose: null,
  subject: null,
  previewText: null,
  contentJson: null,
  contentText: null,
  translations: {},
  variables: [],
  layout: null,
};

/** An author's changes: what is left out stays; absent keys of metadata too. */
export type TemplateChanges = {
  readonly [Field in keyof TemplateContent]?: TemplateContent[Field] | undefined;
} & {
  readonly name?: string | undefined;
  readonly alias?: string | null | undefined;
  readonly metadata?: MetadataPatch | undefined;
};

export type NewTemplate = TemplateChanges & { readonly name: string; readonly kind: TemplateKind };

/** The content with changes. */
export function revisedContent(
  changes: TemplateChanges,
  before: TemplateContent = NO_CONTENT,
): TemplateContent {
  const given = CONTENT_FIELDS.filter((field) => changes[field] !== undefined);
  return { ...before, ...Object.fromEntries(given.map((field) => [field, changes[field]])) };
}

export const isTemplateKey = (text: string): boolean => TEMPLATE_KEY.test(text);

/** Name of an author's for a template, which no key is like. */
export const TEMPLATE_ALIAS = /^[a-z][a-z0-9._-]{0,99}$/;

/** Another template has the alias. */
export class AliasTakenError extends DomainError {
  override readonly code = 'already-exists';

  constructor() {
    super('Another template has this alias: take it from that one first.');
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { field: 'alias' };
  }
}

export type TemplateIdentity = Pick<Template, 'id' | 'environmentId' | 'templateKey' | 'kind'>;

/** Content by name: a draft, and versions of which one is in use. */
export class Template {
  readonly id: string;
  readonly environmentId: number;
  readonly templateKey: string;
  readonly kind: TemplateKind;
  alias: string | null = null;
  name = '';
  metadata: Metadata = {};
  draft: TemplateContent = NO_CONTENT;
  /** The number that the draft would get; null where it is what is in use. */
  draftVersion: number | null = 1;
  publishedVersion: number | null = null;
  lastVersion = 0;
  /** The content in use; null where none is, and of a PARTIAL. */
  contentId: string | null = null;
  readonly createdAt: Date;
  updatedAt: Date;

  constructor({ id, environmentId, templateKey, kind }: TemplateIdentity, fields: NewTemplate, now: Date) {
    this.id = id;
    this.environmentId = environmentId;
    this.templateKey = templateKey;
    this.kind = kind;
    this.createdAt = now;
    this.updatedAt = now;
    this.revise(fields, null, now);
  }

  /** Changes the draft, which may become what `published` is, the content in use; name, alias and metadata at once. */
  revise(changes: TemplateChanges, published: TemplateContent | null, now: Date): void {
    const { name = this.name, alias = this.alias } = changes;
    const metadata = patchedMetadata(this.metadata, changes.metadata);
    const patch = { name, alias, metadata, draft: revisedContent(changes, this.draft) };
    if (patched(this, ['name', 'alias', 'metadata', 'draft'], patch)) this.updatedAt = now;
    this.compareDraft(published);
  }

  /** Puts a version with this content in use. */
  publish(version: number, content: TemplateContent, contentId: string | null, now: Date): void {
    this.publishedVersion = version;
    this.lastVersion = Math.max(version, this.lastVersion);
    this.contentId = contentId;
    this.compareDraft(content);
    this.updatedAt = now;
  }

  private compareDraft(published: TemplateContent | null): void {
    this.draftVersion = isDeepStrictEqual(this.draft, published) ? null : this.lastVersion + 1;
  }
}

/** A version as it was published, as its author wrote it. */
export interface TemplateVersion extends TemplateContent {
  readonly id: string;
  readonly version: number;
  readonly createdAt: Date;
}

/** Content that mails are made of, with layout and partials put in. */
export interface ResolvedContent extends Omit<TemplateContent, 'layout'> {}
