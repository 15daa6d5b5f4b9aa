import { z } from 'zod'

/** The answer to a change: the resource, or only its identifier if the caller may change but not read it. */
export function changeAnswer<S extends z.ZodRawShape, Name extends keyof S & string>(
  thing: z.ZodObject<S>,
  name: Name,
) {
  return z.union([thing, z.object({ [name]: thing.shape[name] } as Pick<S, Name>)])
}
