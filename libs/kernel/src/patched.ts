import { isDeepStrictEqual } from 'node:util';

/** Sets the fields whose value differs in the patch; false when none does. */
export function patched<Entity extends object, Field extends keyof Entity>(
  entity: Entity,
  fields: readonly Field[],
  patch: { readonly [Name in Field]?: Entity[Name] | undefined },
): boolean {
  const changed = fields.filter(
    (field) => patch[field] !== undefined && !isDeepStrictEqual(patch[field], entity[field]),
  );
  for (const field of changed) entity[field] = patch[field] as Entity[Field];
  return changed.length > 0;
}
