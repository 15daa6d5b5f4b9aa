import { z } from 'zod'
import { Offset } from '#model/identifier'

/** Messages on an event socket about the position in the stream. Contract 4.4, 4.5, 4.7. */

const position = { epoch: z.string(), offset: Offset }

/**
 * The first message to a client that asked for a position: either all events since then follow, or the client must read
 * the full state.
 */
export const StreamMessage = z.object({ type: z.literal('STREAM'), ...position, recovered: z.boolean() })

/** Events before this position were missed: the client must read the full state. */
export const ResyncMessage = z.object({ type: z.literal('RESYNC'), ...position })

/** Asks for the position, and whether the server is alive. */
export const PingMessage = z.object({ type: z.literal('PING') })

export const PongMessage = z.object({ type: z.literal('PONG'), ...position })
