import { z } from 'zod'

/** What answers a change: the thing, or the field that identifies it to a caller who may change and not read it. */
export function changedOr<S extends z.ZodRawShape, Name extends keyof S & string>(thing: z.ZodObject<S>, name: Name) {
  return z.union([thing, z.object({ [name]: thing.shape[name] } as Pick<S, Name>)])
}
