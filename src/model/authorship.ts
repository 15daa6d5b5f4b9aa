import { z } from 'zod'
import { Timestamp } from '#model/identifier'

/** Creator and last editor, as resource names, with times in Unix ms. */
export interface Authored {
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedBy: string
  readonly updatedAt: number
}

/** The same in answers of the API. */
export const authorshipFields = {
  createdBy: z.string(),
  createdAt: Timestamp,
  updatedBy: z.string(),
  updatedAt: Timestamp,
}

export function authorshipOf({ createdBy, createdAt, updatedBy, updatedAt }: Authored): Authored {
  return { createdBy, createdAt, updatedBy, updatedAt }
}
