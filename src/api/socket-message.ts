import type { z } from 'zod'

/** One message of a websocket. */
export interface SocketMessage {
  /** As it stands in `type`. */
  readonly name: string
  readonly summary: string
  readonly schema: z.ZodType
  /** As JSON has them. */
  readonly examples: readonly unknown[]
}
