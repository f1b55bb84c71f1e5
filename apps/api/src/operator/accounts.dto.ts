import { z } from 'zod';
import { type Project, projectKeyFault, type ProjectWithEnvironments, tenantKeyFault } from '#access';
import { PLAN_TIERS, SUBSCRIPTION_STATUSES } from '#billing';
import { API_SCOPES } from '#kernel';
import type { KeptDays } from '#messaging';
import { type Answer, int64, pageOf, pageQuery, PLACES, strictBody, timestamp } from '#platform/http';
import {
  allowedNetworks,
  apiKeyView,
  createdApiKeyView,
  rateLimitPerMinute,
} from '../access/api-keys.dto.js';
import { projectView, updateProjectBody } from '../access/project.dto.js';
import { addressField, checked, leftOut, moment, prose, requiredLine } from '../fields.js';

/** An id in a path; what is none matches nothing. */
export const idParam = z.preprocess(
  (text) => (/^[1-9]\d{0,14}$/.test(String(text)) ? Number(text) : 0),
  z.int(),
);
/** An id in a query. */
const id = z.coerce.number().int().min(1);
const tenantKey = z.string().max(16).meta({ description: 'Key of a tenant.', example: 'ACME' });

export const tenantListQuery = pageQuery({}, [PLACES.text]);

export const createTenantBody = strictBody({
  tenantKey: checked(tenantKeyFault).max(16).meta({
    description: '2 to 16 capital letters and digits, beginning with a letter. It never changes.',
  }),
  name: requiredLine(200),
}).meta({ id: 'CreateTenant' });

export const tenantView = z
  .object({
    id: int64,
    tenantKey,
    name: z.string(),
    planTier: z.enum(PLAN_TIERS).nullable(),
    subscriptionStatus: z.enum(SUBSCRIPTION_STATUSES).nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Tenant' });
export const tenantPage = pageOf(tenantView, 'TenantPage');

export const projectListQuery = pageQuery(
  { tenantKey: tenantKey.optional().meta({ description: 'Projects of this tenant.' }) },
  [PLACES.text, PLACES.text],
);

export const createProjectBody = strictBody({
  tenantKey,
  projectKey: checked(projectKeyFault).max(8).meta({
    description: '2 to 8 capital letters and digits, beginning with a letter. It never changes.',
    example: 'APIT',
  }),
  name: requiredLine(200),
  description: prose(1000).nullish(),
  senderName: requiredLine(100).meta({ description: 'The name in From, where a campaign has none.' }),
  postalAddress: prose(1000)
    .refine((text) => text.trim() !== '', 'must not be empty')
    .meta({ minLength: 1, maxLength: 1000, description: 'In the footer of every mail.' }),
  fromEmail: addressField.nullish(),
}).meta({ id: 'CreateProject' });

const { trackingHost: _trackingHost, ...settings } = updateProjectBody.shape;

const kept = (rows: string) =>
  z
    .int()
    .nullable()
    .meta({ description: `Days for which ${rows} are kept; null: as the installation does.` });
const keptDays = {
  deliveriesDays: kept('mails, from 60 on,'),
  eventsDays: kept('opens, clicks and events, from 30 on,'),
};

export const changeProjectBody = strictBody({
  ...settings,
  aiSegmentSuggestionsEnabled: leftOut(z.boolean()),
}).meta({ id: 'ChangeProject' });

export const retentionBody = strictBody({
  deliveriesDays: keptDays.deliveriesDays.optional(),
  eventsDays: keptDays.eventsDays.optional(),
}).meta({ id: 'ChangeRetention' });

export const retentionView = z.object(keptDays).meta({ id: 'Retention' });

const LISTED = {
  id: int64,
  tenantKey,
  projectKey: z.string(),
  name: z.string(),
  liveEnvironmentId: int64,
  testEnvironmentId: int64,
  createdAt: timestamp,
  updatedAt: timestamp,
};
export const listedProjectView = z.object(LISTED).meta({ id: 'ListedProject' });
export const projectPage = pageOf(listedProjectView, 'ListedProjectPage');

export const operatedProjectView = projectView
  .omit({ selected: true, environment: true, trackingHostStatus: true })
  .extend({ ...LISTED, retention: retentionView })
  .meta({ id: 'OperatedProject' });

export function toListedProject({ live, test, tenantId: _tenantId, ...project }: ProjectWithEnvironments) {
  return { ...project, liveEnvironmentId: live.environmentId, testEnvironmentId: test.environmentId };
}

export function toOperatedProject(
  project: ProjectWithEnvironments,
  { defaultFromEmail: fromEmail, logoUrl, color, ...profile }: Project,
  retention: KeptDays,
): Answer<typeof operatedProjectView> {
  return { ...profile, ...toListedProject(project), fromEmail, brand: { logoUrl, color }, retention };
}

export const projectKeyListQuery = pageQuery({
  projectId: id.optional().meta({ description: 'Keys of this project.' }),
});

export const createProjectKeyBody = strictBody({
  environmentId: z.int().min(1).meta({ description: 'Environment of a project that the key works in.' }),
  name: requiredLine(200).meta({ description: 'The program or person that has it.' }),
  scopes: z.array(z.enum(API_SCOPES)).min(1),
  expiresAt: moment.nullish().meta({ description: 'At most 100 years ahead; null: never.' }),
  rateLimitPerMinute: rateLimitPerMinute.meta({ description: 'Null: the installation’s.' }),
  allowedNetworks: allowedNetworks.meta({ description: 'Addresses and networks (CIDR); null: anywhere.' }),
}).meta({ id: 'CreateProjectKey' });

const OWNER = {
  tenantKey,
  projectId: int64,
  projectKey: z.string(),
  environment: z.enum(['LIVE', 'TEST']),
};
export const projectKeyPage = pageOf(apiKeyView.extend(OWNER).meta({ id: 'ProjectKey' }), 'ProjectKeyPage');
export { apiKeyView, createdApiKeyView };
