import { z } from 'zod'
import { FilterCondition } from '#model/condition'

/** A condition over devices, as JSON. Contract 3.7. */
export const filterField = z
  .string('must be one condition')
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      context.addIssue({ code: 'custom', message: 'must be JSON' })
      return z.NEVER
    }
  })
  .pipe(FilterCondition)
