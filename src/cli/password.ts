import { createInterface } from 'node:readline'
import { type Readable, Writable } from 'node:stream'
import { Misuse } from '#cli/exit-codes'

/**
 * Reads a line from a terminal without echo. Ctrl-C and Ctrl-D cancel.
 *
 * @throws Misuse if `input` is no terminal
 */
export async function askPassword(
  question: string,
  { input, notes }: { readonly input: Readable & { readonly isTTY?: boolean }; readonly notes: Writable },
): Promise<string> {
  if (input.isTTY !== true) {
    throw new Misuse('a password is needed, and there is no terminal: set ADMIN_PASSWORD or ADMIN_API_KEY')
  }
  // Discards the echo of readline.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input, output: nowhere, terminal: true, historySize: 0 })
  notes.write(question)
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve)
      lines.once('SIGINT', () => lines.close())
      lines.once('close', () => reject(new Misuse('no password was given')))
    })
  } finally {
    lines.close()
    notes.write('\n')
  }
}
