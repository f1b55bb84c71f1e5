import { z } from 'zod';

/** The schema of a JSON body: an object whose unknown properties are refused, each as "is not a known field". */
export function strictBody<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape);
}
