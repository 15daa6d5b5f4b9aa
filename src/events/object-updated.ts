import { itemTexts, quote, removedText } from '#events/property-text'
import type { Declared, RemovedProperty, Reported, Undeclared } from '#model/entry'

/** Whether an item need not be said. `isRemoval`: it says that the property is gone. */
export type IsLeftOut = (propId: number, isRemoval: boolean) => boolean

/**
 * OBJECT_UPDATED, the event there are millions of: the fields after `offset`, items in the device's order. §6.
 * With `isLeftOut`: without those items; undefined when that leaves none of them.
 */
export function objectUpdated(entry: Reported | Declared | Undeclared): string
export function objectUpdated(entry: Reported | Declared | Undeclared, isLeftOut: IsLeftOut): string | undefined
export function objectUpdated(entry: Reported | Declared | Undeclared, isLeftOut?: IsLeftOut): string | undefined {
  const service = entry.kind === 'undeclared' ? entry.service : entry.shape.serviceIdentifier
  const said =
    entry.kind === 'undeclared'
      ? ''
      : itemTexts(entry.shape, entry.items, isLeftOut && ((propId) => isLeftOut(propId, false)))
  const removed = entry.kind === 'reported' ? '' : removedTexts(entry.removed, isLeftOut)
  const items = said === '' || removed === '' ? said + removed : `${said},${removed}`
  if (isLeftOut && items === '') return undefined
  return `,"flakeAddress":${entry.flakeAddress},"deviceIdentifier":${quote(entry.device)},"serviceIdentifier":${quote(service)},"updates":[${items}]`
}

function removedTexts(removed: readonly RemovedProperty[], isLeftOut?: IsLeftOut): string {
  return removed
    .filter(({ propId }) => !isLeftOut?.(propId, true))
    .map(removedText)
    .join(',')
}
