import type { z } from 'zod'

/** One message of a websocket. */
export interface SocketMessage {
  /** The value of `type`. */
  readonly name: string
  readonly summary: string
  readonly schema: z.ZodType
  /** In their JSON form. */
  readonly examples: readonly unknown[]
}
