import type { EventOf, StreamEvent } from '#model/event'

/**
 * Events about one device without the items that a later one says again, and without events of which nothing is left:
 * applied in order they come to the same. As the server does it for who is slow, contract 4.5.
 */
export function strip(events: readonly StreamEvent[]): StreamEvent[] {
  const said = new Set<string>()
  const kept: StreamEvent[] = []
  for (const event of events.toReversed()) {
    const left = event.type === 'OBJECT_UPDATED' ? stripped(event as EventOf<'OBJECT_UPDATED'>, said) : event
    if (left) kept.push(left)
    // What was before does not matter to what comes after.
    if (event.type === 'DEVICE_DELETE') break
  }
  return kept.reverse()
}

function stripped(event: EventOf<'OBJECT_UPDATED'>, said: Set<string>): StreamEvent | undefined {
  const updates: EventOf<'OBJECT_UPDATED'>['updates'] = []
  for (const item of event.updates.toReversed()) {
    const place = `${event.serviceIdentifier} ${item.propId}`
    if (!said.has(place)) updates.push(item)
    said.add(place)
  }
  if (updates.length === 0) return undefined
  return updates.length === event.updates.length ? event : { ...event, updates: updates.reverse() }
}
