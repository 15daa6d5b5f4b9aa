import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Router } from 'wouter-preact'
import { useHashLocation } from 'wouter-preact/use-hash-location'
import type { Observable } from '#client/client'
import { type Connection, Problem } from '#client/client'
import { Brand, Icon } from '#dashboard/icons'
import { Navigation } from '#dashboard/navigation'
import { Outlet } from '#dashboard/outlet'
import SignInPage from '#dashboard/pages/sign-in/page'
import { freshCodes, RecoveryCodes } from '#dashboard/pages/sign-in/recovery-codes'
import { Boundary } from '#dashboard/parts/boundary'
import { Button } from '#dashboard/parts/button'
import { Link } from '#dashboard/parts/link'
import { problemText } from '#dashboard/parts/problem-text'
import { Status, type Tone } from '#dashboard/parts/status'
import { clock, duration } from '#dashboard/parts/time'
import { Toasts } from '#dashboard/parts/toasts'
import { leave } from '#dashboard/parts/unsaved'
import { UnsavedGuard } from '#dashboard/parts/unsaved-guard'
import { type Called, useCall } from '#dashboard/parts/use-call'
import { useObservable } from '#dashboard/parts/use-observable'
import { client, isIn, isKept, present, session, signOut, visit } from '#dashboard/session'
import { endState, state } from '#dashboard/state'
import { ThemeSwitch } from '#dashboard/theme'
import { after } from '#dashboard/world'

/**
 * The whole page: the sign-in page, or the page that the address names with its navigation. A page with unsaved input
 * stays behind a later sign-in.
 */
export function App() {
  const begun = useCall(() => client.restore(), [])
  const isInside = isIn()
  const isWaiting = isKept()
  useEffect(() => {
    if (isInside) return
    // The state has already cleared itself, and the kept page shows it.
    if (!isWaiting) endState()
    freshCodes.value = undefined
  }, [isInside, isWaiting])
  const signInPage = freshCodes.value ? (
    <RecoveryCodes codes={freshCodes.value} />
  ) : isInside ? undefined : (
    <SignedOut begun={begun} />
  )
  const wasKept = useRef(false)
  wasKept.current = isWaiting || (wasKept.current && signInPage !== undefined)
  const isCovered = wasKept.current
  return (
    <Boundary>
      <Router hook={useHashLocation}>
        {(isCovered || !signInPage) && <Shell key={visit.value} isHidden={isCovered} />}
        {signInPage && (isCovered ? <CoverDialog label="Sign in again">{signInPage}</CoverDialog> : signInPage)}
        <UnsavedGuard />
        <Toasts />
      </Router>
    </Boundary>
  )
}

const tryAgainMs = 5_000

/** Shown until the session is known, and while no user is signed in. */
function SignedOut({ begun }: { readonly begun: Called<unknown> }) {
  const { problem, isLoading, again } = begun
  const isAway = problem !== undefined && !isLoading
  // A wall screen has no user who could press a button.
  useEffect(() => (isAway ? after(tryAgainMs, again) : undefined), [isAway, again])
  if (present.value.state !== 'unknown') return <SignInPage />
  return (
    <main class="sign-in">
      <Brand />
      {!isAway ? (
        <p class="loading" role="status">
          <span class="spinner" aria-hidden="true" /> Connecting to the server…
        </p>
      ) : (
        <div class="notice bad" role="alert">
          <p>{problemText(problem)} It is tried again by itself.</p>
          <Button onPress={again}>Try again</Button>
        </div>
      )}
    </main>
  )
}

function Shell({ isHidden }: { readonly isHidden: boolean }) {
  const focused = useRef<HTMLElement>()
  useLayoutEffect(() => {
    if (!isHidden) focused.current?.focus()
  }, [isHidden])
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [location] = useHashLocation()
  useEffect(() => setMenuOpen(false), [location])
  const { connection } = state()
  return (
    <div
      class="shell"
      hidden={isHidden}
      onFocusIn={({ target }) => {
        focused.current = target as HTMLElement
      }}
    >
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to the content
      </button>
      <header class="shell-top">
        <div class="shell-head">
          <span class="menu-button">
            <Button kind="quiet" label="Pages" isExpanded={isMenuOpen} onPress={() => setMenuOpen(!isMenuOpen)}>
              <Icon name="menu" />
            </Button>
          </span>
          <Link to="/" class="brand">
            <Brand />
          </Link>
          <ConnectionMark connection={connection} />
          <ThemeSwitch />
          <Who />
        </div>
        <ConnectionBanner connection={connection} />
      </header>
      <Navigation isOpen={isMenuOpen} location={location} onGo={() => setMenuOpen(false)} />
      <main id="content" class="shell-main" tabIndex={-1}>
        <Outlet location={location} />
      </main>
    </div>
  )
}

function Who() {
  if (session.value.state === 'IAM off') return <span class="soft account-name">Authentication is off</span>
  return (
    <>
      <Link to="/account" class="button quiet">
        <Icon name="person" />
        <span class="account-name">{session.value.name}</span>
        <span class="hidden">Your account</span>
      </Link>
      <Button kind="quiet" onPress={() => leave(signOut)}>
        Sign out
      </Button>
    </>
  )
}

/** Shows how current the displayed values are. */

interface ConnectionProps {
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

/** In the header of every page: the state of the connection, announced to screen readers when it changes. */
function ConnectionMark({ connection }: ConnectionProps) {
  const { state } = useObservable(connection)
  return (
    <span class="connection" role="status">
      <Status state={state} tone={tones[state]} />
    </span>
  )
}

/**
 * Explains what the state means for the displayed values, unless it is live. Not read aloud, because its seconds tick.
 */
function ConnectionBanner({ connection }: ConnectionProps) {
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
  // A short interruption is not worth a message.
  connecting: ({ since }, at) => (at - since > quietMs ? 'Connecting: no live values yet.' : undefined),
  'catching up': ({ since }, at) => (at - since > quietMs ? 'Loading changes since the interruption.' : undefined),
  live: () => undefined,
  reconnecting: (connection, at) => `Not connected: values are from ${ago(connection, at)}. ${nextTry(connection, at)}`,
  stale: (connection, at) =>
    `Stale: no message for ${duration(at - connection.since)}, since ${clockTime(connection.since)}.`,
  closed: () => 'Not connected: these values are old and do not change.',
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

/**
 * Covers the whole page until it is removed; the user cannot close it. It is a modal dialog because the page may have a
 * dialog open. The page below is out of reach and keeps its state.
 */
function CoverDialog({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const show = () => {
    if (dialog.current && !dialog.current.open) dialog.current.showModal()
  }
  useLayoutEffect(() => {
    const { title } = document
    show()
    return () => {
      document.title = title
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class="cover"
      aria-label={label}
      // Browsers close a dialog after repeated requests, even if they are prevented.
      onClose={show}
      onCancel={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.preventDefault()
      }}
    >
      {children}
    </dialog>
  )
}
