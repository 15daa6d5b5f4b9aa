/** The other end of a `Remote`: serves the functions that it can call, by name. The process ends with its parent. */
export function serveFunctions(answers: Readonly<Record<string, (argument: never) => unknown>>): void {
  process.on('message', async ({ id, what, argument }: { id: number; what: string; argument: never }) => {
    try {
      process.send?.({ id, value: await answers[what]?.(argument) })
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.once('disconnect', () => process.exit())
}
