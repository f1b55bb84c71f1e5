import { isDeepStrictEqual } from 'node:util';

/** Sets those of the fields that the patch has another value of; false when there are none. */
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
