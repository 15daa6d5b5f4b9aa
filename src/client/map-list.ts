import type { ListKind } from '#client/list-kind'
import type { LiveMap } from '#client/live-map'
import type { ListName } from '#client/routes'
import type { EventType, StreamEvent } from '#model/event'

/** A list whose entries are those of one map. */
export abstract class MapList<V> implements ListKind {
  abstract readonly route: ListName
  abstract readonly types: readonly EventType[]
  readonly query: Readonly<Record<string, unknown>> = {}
  readonly firstPage: number | undefined
  protected readonly map: LiveMap<string, V>

  /** @param firstPage how many entries a page has; undefined where there are no pages */
  constructor(map: LiveMap<string, V>, firstPage?: number) {
    this.map = map
    this.firstPage = firstPage
  }

  take(entries: readonly unknown[]) {
    const keys = (entries as readonly V[]).map((entry) => {
      const key = this.keyIn(entry)
      this.map.set(key, entry)
      return key
    })
    return { keys, weight: keys.length }
  }

  keepOnly(isThere: (key: string) => boolean): void {
    for (const key of [...this.map.keys()]) if (!isThere(key)) this.map.delete(key)
  }

  complete(isComplete: boolean): void {
    this.map.complete(isComplete)
  }

  abstract keyOf(event: StreamEvent): string
  abstract apply(event: StreamEvent): void
  protected abstract keyIn(entry: V): string
}
