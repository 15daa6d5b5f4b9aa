import { Problem } from '#model/problem'
import type { SimulatedServer } from '#test/simulation/simulated-server'

export type Answer = Awaited<ReturnType<SimulatedServer['call']>> | { readonly refused: string }

/** What was answered, or by which code it was refused. */
export async function answerOf(call: ReturnType<SimulatedServer['call']>): Promise<Answer> {
  try {
    return await call
  } catch (error) {
    if (error instanceof Problem) return { refused: error.code }
    throw error
  }
}
