import { z } from 'zod'
import { Timestamp } from '#model/identifier'

/** Creator and last editor, as resource names, with times in Unix ms. */
export const authorshipFields = {
  createdBy: z.string(),
  createdAt: Timestamp,
  updatedBy: z.string(),
  updatedAt: Timestamp,
}
export type Authored = Readonly<z.output<z.ZodObject<typeof authorshipFields>>>

export function authorshipOf({ createdBy, createdAt, updatedBy, updatedAt }: Authored): Authored {
  return { createdBy, createdAt, updatedBy, updatedAt }
}
