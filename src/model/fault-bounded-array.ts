import { z } from 'zod'
import { detailsMax } from '#model/problem'

const FaultBoundedArray = z.core.$constructor('FaultBoundedArray', (array: z.ZodArray, def: z.core.$ZodArrayDef) => {
  z.ZodArray.init(array, def)
  const parse = array._zod.parse
  array._zod.parse = (payload, context) => {
    const list = payload.value
    if (!Array.isArray(list)) return parse(payload, context)
    const items = new Array<unknown>(list.length)
    payload.value = items
    for (let index = 0; index < list.length && payload.issues.length < detailsMax; index++) {
      const item = def.element._zod.run({ value: list[index], issues: [] }, context)
      if (item instanceof Promise) throw new Error('the schema of the elements must be synchronous')
      payload.issues.push(...z.core.util.prefixIssues(index, item.issues))
      items[index] = item.value
    }
    return payload
  }
})

/**
 * Like `z.array`, but stops at as many faults as an error lists. Each fault costs some microseconds, so thousands of
 * invalid elements would block the event loop for longer than thousands of valid ones. The elements after the last
 * fault are missing then: a later check of the array also ends at `detailsMax` issues, before it reads the missing
 * elements.
 */
export function faultBoundedArray<Item extends z.ZodType>(item: Item): z.ZodArray<Item> {
  return new FaultBoundedArray({ type: 'array', element: item }) as unknown as z.ZodArray<Item>
}
