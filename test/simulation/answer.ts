import { Problem } from '#model/problem'
import type { SimulatedServer } from '#test/simulation/simulated-server'

export type Answer = Awaited<ReturnType<SimulatedServer['call']>> | { readonly refused: string }

/** An answer, or the code of a refusal. */
export async function answerOf(call: ReturnType<SimulatedServer['call']>): Promise<Answer> {
  try {
    return await call
  } catch (error) {
    if (error instanceof Problem) return { refused: error.code }
    throw error
  }
}
