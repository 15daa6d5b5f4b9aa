import { modifierFlags, modifierOf } from '#model/modifier'

/** OBJECT_UPDATED of read-only FLOATs as the server sends it. `items` alternates property ids and values. */
export function objectUpdated(
  timestamp: number,
  offset: number,
  flakeAddress: number,
  deviceIdentifier: string | undefined,
  serviceIdentifier: string | undefined,
  items: readonly number[],
): object {
  const updates: unknown[] = []
  for (let at = 0; at < items.length; at += 2) {
    const modifier = modifierOf(modifierFlags.isReadOnly)
    updates.push({ tag: 'value', modifier, propId: items[at], type: 'FLOAT', value: items[at + 1] })
  }
  return { type: 'OBJECT_UPDATED', timestamp, offset, flakeAddress, deviceIdentifier, serviceIdentifier, updates }
}
