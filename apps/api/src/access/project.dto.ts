import { z } from 'zod';
import type { Project } from '#access';
import { int64, timestamp } from '#platform/http';

/** The project that the request's key belongs to. */
export const projectView = z
  .object({
    id: int64,
    projectKey: z
      .string()
      .meta({ example: 'APIT', description: 'The prefix of the keys of its topics, campaigns and so on.' }),
    name: z.string(),
    description: z.string().nullable(),
    selected: z.boolean().nullable().meta({ description: 'Always true.' }),
    aiSegmentSuggestionsEnabled: z.boolean().nullable(),
    environment: z
      .enum(['LIVE', 'TEST'])
      .meta({ description: 'The environment that the API key belongs to.' }),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Project' });

export function toProjectView(project: Project): z.output<typeof projectView> {
  return {
    id: project.id,
    projectKey: project.projectKey,
    name: project.name,
    description: project.description,
    selected: true,
    aiSegmentSuggestionsEnabled: project.aiSegmentSuggestionsEnabled,
    environment: project.environment,
    createdAt: project.createdAt.toISOString(),
    updatedAt: project.updatedAt.toISOString(),
  };
}
