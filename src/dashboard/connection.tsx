import { type Connection, Problem } from '#client/client'
import { Button } from '#dashboard/parts/button'
import { problemText } from '#dashboard/parts/problem-text'
import { Status, type Tone } from '#dashboard/parts/status'
import { clock, duration } from '#dashboard/parts/time'
import { type Observable, useObservable } from '#dashboard/parts/use-observable'

/** How current is what is shown: as honest as the client library is. */

export interface ConnectionProps {
  readonly connection: Observable<Connection>
}

const tones: Readonly<Record<Connection['state'], Tone>> = {
  connecting: 'busy',
  'catching up': 'busy',
  live: 'good',
  reconnecting: 'warning',
  stale: 'warning',
  closed: 'quiet',
}

/** In the head of every page: a word, told to screen readers when it is another one. */
export function ConnectionMark({ connection }: ConnectionProps) {
  const { state } = useObservable(connection)
  return (
    <span class="connection" role="status">
      <Status state={state} tone={tones[state]} />
    </span>
  )
}

/** What it means for what is shown, as long as that is not live. Its seconds tick, so it is not read out. */
export function ConnectionBanner({ connection }: ConnectionProps) {
  const now = useObservable(connection)
  const text = sentences[now.state]?.(now, clock.value)
  if (text === undefined) return null
  const { problem } = now
  return (
    <div class={tones[now.state] === 'busy' ? 'banner busy' : 'banner'} data-state={now.state}>
      <span>{text}</span>
      {problem instanceof Problem && <span>{problemText(problem)}</span>}
      {now.state === 'closed' && <Button onPress={() => location.reload()}>Connect again</Button>}
    </div>
  )
}

type Sentence = (connection: Connection, at: number) => string | undefined

const quietMs = 700

const sentences: Readonly<Record<Connection['state'], Sentence>> = {
  // A moment of it is no news.
  connecting: ({ since }, at) => (at - since > quietMs ? 'Connecting: nothing is shown as live yet.' : undefined),
  'catching up': ({ since }, at) => (at - since > quietMs ? 'Catching up with what happened meanwhile.' : undefined),
  live: () => undefined,
  reconnecting: (connection, at) =>
    `Not connected: values are as they were ${ago(connection, at)}. ${nextTry(connection, at)}`,
  stale: (connection, at) =>
    `Stale: nothing was heard for ${duration(at - connection.since)}, since ${clockTime(connection.since)}.`,
  closed: () => 'Not connected: values are as they were, and do not change here.',
}

function ago({ since }: Connection, at: number): string {
  return `${duration(Math.max(at - since, 1_000))} ago, at ${clockTime(since)}`
}

function nextTry({ attempt, nextAttemptAt }: Connection, at: number): string {
  const which = attempt !== undefined && attempt > 1 ? ` (attempt ${attempt})` : ''
  if (nextAttemptAt === undefined || nextAttemptAt <= at) return `Trying again now${which}.`
  return `Trying again in ${Math.ceil((nextAttemptAt - at) / 1_000)} s${which}.`
}

function clockTime(at: number): string {
  return new Date(at).toLocaleTimeString()
}
