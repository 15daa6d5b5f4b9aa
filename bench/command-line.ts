import { type Command, CommanderError, InvalidArgumentError, Option } from 'commander'

/** Reads an integer of this range. */
export function integer(low: number, high = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (text !== '' && Number.isInteger(number) && number >= low && number <= high) return number
    throw new InvalidArgumentError(
      `It must be an integer from ${low}${high < Number.MAX_SAFE_INTEGER ? ` to ${high}` : ''}.`,
    )
  }
}

/** Reads a number from 0 to `high`. */
export function amount(high: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (text !== '' && number >= 0 && number <= high) return number
    throw new InvalidArgumentError(`It must be a number from 0 to ${high}.`)
  }
}

export function matching(pattern: RegExp): (text: string) => string {
  return (text) => {
    if (pattern.test(text)) return text
    throw new InvalidArgumentError(`It must match ${pattern}.`)
  }
}

/** `flags`: `--name VALUE`; the value is shown in the help. */
export function option(flags: string, about: string, read?: (text: string) => unknown, fallback?: unknown): Option {
  const made = new Option(flags.replace(/ (\S+)$/, ' <$1>'), about)
  if (read) made.argParser(read)
  return fallback === undefined ? made : made.default(fallback)
}

/** For `--seed`: repeats a run. */
export const seedOption = option('--seed N', 'random seed (default: the clock)', integer(1))

export const seedOfClock = () => Date.now() % 1_000_000_000

/** Resolves after the time (0: never), or on a signal. */
export function stopRequested(seconds: number): Promise<void> {
  return new Promise((resolve) => {
    if (seconds > 0) setTimeout(resolve, seconds * 1000)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
}

/** Runs the command with the arguments of this process. Exit code 2: the command was called wrongly, or failed. */
export async function runCommand(command: Command): Promise<void> {
  for (const each of [command, ...command.commands]) {
    // Joins the lines of each paragraph, which the help then wraps at the width of the terminal.
    each.exitOverride().description(each.description().replace(/(?<!\n)\n(?=\S)/g, ' '))
  }
  try {
    await command.parseAsync()
  } catch (error) {
    if (!(error instanceof CommanderError)) console.error(error instanceof Error ? error.message : error)
    process.exit(error instanceof CommanderError && error.exitCode === 0 ? 0 : 2)
  }
}
