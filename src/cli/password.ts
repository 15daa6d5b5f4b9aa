import { createInterface } from 'node:readline'
import { type Readable, Writable } from 'node:stream'
import { Misuse } from '#cli/ending'

/**
 * A line typed at a terminal, of which nothing is shown. Ctrl-C and Ctrl-D give up.
 *
 * @throws Misuse when `input` is no terminal: nobody is there to answer, or what comes is meant for something else
 */
export async function askPassword(
  question: string,
  { input, notes }: { readonly input: Readable & { readonly isTTY?: boolean }; readonly notes: Writable },
): Promise<string> {
  if (input.isTTY !== true) {
    throw new Misuse(
      'a password is needed, and there is no terminal to ask for it: set ADMIN_PASSWORD or ADMIN_API_KEY',
    )
  }
  // What is typed is echoed by whoever edits the line: into nowhere.
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
