import { z } from 'zod'
import { Offset } from '#model/identifier'

/** What is said on an event socket beside events: where one stands in the stream. Contract 4.4, 4.5, 4.7. */

const position = { epoch: z.string(), offset: Offset }

/** The first message to who asked for a position: whether everything since then follows, or the state has to be read anew. */
export const StreamMessage = z.object({ type: z.literal('STREAM'), ...position, recovered: z.boolean() })

/** What lies before this position was missed: the state has to be read anew. */
export const ResyncMessage = z.object({ type: z.literal('RESYNC'), ...position })

/** Asks for the position, and whether anybody is there. */
export const PingMessage = z.object({ type: z.literal('PING') })

export const PongMessage = z.object({ type: z.literal('PONG'), ...position })
