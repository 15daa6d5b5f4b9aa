import type { ApiClient } from '#cli/api-client'

/** A server that can be asked, as somebody who may, until it is closed. */
export interface Connection {
  readonly client: ApiClient
  close(): Promise<void>
}
