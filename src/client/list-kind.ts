import type { ListName } from '#client/routes'
import type { EventType, StreamEvent } from '#model/event'

/** A list of the API that is read once and then kept up by events: what it is, not how that is done. */
export interface ListKind {
  readonly route: ListName
  readonly query: Readonly<Record<string, unknown>>
  /** Entries of the first page; later ones come to about `weightPerPage`. Undefined: the list has no pages. */
  readonly firstPage?: number | undefined
  readonly weightPerPage?: number
  /** Events that concern it. */
  readonly types: readonly EventType[]
  /** Which entry an event is about; '' for several: then it waits until all were read. */
  keyOf(event: StreamEvent): string
  /** Entries as they were read; what was known of them is put aside. Their keys, and how much there was. */
  take(entries: readonly unknown[]): { readonly keys: readonly string[]; readonly weight: number }
  /** All was read: what was not among it is gone. */
  keepOnly(isThere: (key: string) => boolean): void
  apply(event: StreamEvent): void
  /** A device is there no more; absent where nothing is said of devices. */
  gone?(device: string): void
  /** It was read to its end and events were caught up with, or it is not known any more whether it is right. */
  complete(isComplete: boolean): void
}
