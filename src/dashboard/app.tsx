import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Connection, type Observable, Problem } from '#client/client'
import { address } from '#dashboard/address'
import { Button } from '#dashboard/components/button'
import { UnsavedGuard } from '#dashboard/components/dialog'
import { Link } from '#dashboard/components/link'
import { ErrorBoundary, Failure, Loading } from '#dashboard/components/page'
import { problemText } from '#dashboard/components/problem-text'
import { Status } from '#dashboard/components/status'
import { clock } from '#dashboard/components/time'
import { Toasts } from '#dashboard/components/toasts'
import { confirmLeave } from '#dashboard/components/unsaved-input'
import { type CallState, useCall } from '#dashboard/components/use-call'
import { useObservable } from '#dashboard/components/use-observable'
import { Brand, Icon } from '#dashboard/icons'
import { Navigation, Outlet } from '#dashboard/navigation'
import SignInPage from '#dashboard/pages/sign-in/page'
import { newRecoveryCodes, RecoveryCodes } from '#dashboard/pages/sign-in/second-factor'
import {
  client,
  closeState,
  currentSession,
  hasAccess,
  isPageKept,
  liveState,
  session,
  shellKey,
  signOut,
} from '#dashboard/session'
import { ThemeSwitch } from '#dashboard/theme'
import { runAfter } from '#dashboard/timers'
import { duration } from '#dashboard/values/format-value'

/**
 * The whole page: the sign-in page, or the navigation and the page that the address names. A page with unsaved input is
 * kept behind the sign-in page.
 */
export function App() {
  const restoration = useCall(() => client.restore(), [])
  useObservable(currentSession)
  useObservable(session)
  const shell = useObservable(shellKey)
  const codes = useObservable(newRecoveryCodes)
  const isAllowed = hasAccess()
  const isKept = isPageKept()
  useEffect(() => {
    if (isAllowed) return
    // A kept page still uses the live state, which has already cleared itself.
    if (!isKept) closeState()
    newRecoveryCodes.set(undefined)
  }, [isAllowed, isKept])
  const signInPage = codes ? (
    <RecoveryCodes codes={codes} />
  ) : isAllowed ? undefined : (
    <SignedOut restoration={restoration} />
  )
  const wasKept = useRef(false)
  wasKept.current = isKept || (wasKept.current && signInPage !== undefined)
  const isCovered = wasKept.current
  return (
    <ErrorBoundary>
      {(isCovered || !signInPage) && <Shell key={shell} isHidden={isCovered} />}
      {signInPage && (isCovered ? <CoverDialog label="Sign in again">{signInPage}</CoverDialog> : signInPage)}
      <UnsavedGuard />
      <Toasts />
    </ErrorBoundary>
  )
}

const retryMs = 5_000

/** Shown until the session is known, and while no user is signed in. */
function SignedOut({ restoration }: { readonly restoration: CallState<unknown> }) {
  const { problem, isLoading, refresh } = restoration
  const hasFailed = problem !== undefined && !isLoading
  // Retries by itself, because a wall screen has no user to press a button.
  useEffect(() => (hasFailed ? runAfter(retryMs, refresh) : undefined), [hasFailed, refresh])
  if (currentSession.value.state !== 'unknown') return <SignInPage />
  return (
    <main class="sign-in">
      <Brand />
      {hasFailed ? (
        <Failure text={`${problemText(problem)} The page retries automatically.`} onPress={refresh} />
      ) : (
        <Loading text="Connecting to the server…" />
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
  const location = useObservable(address)
  useEffect(() => setMenuOpen(false), [location])
  const { connection } = liveState()
  return (
    <div
      class="shell"
      hidden={isHidden}
      onFocusIn={({ target }) => {
        focused.current = target as HTMLElement
      }}
    >
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to content
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
          <ConnectionStatus connection={connection} />
          <ThemeSwitch />
          <AccountLinks />
        </div>
        <ConnectionBanner connection={connection} />
      </header>
      <Navigation isOpen={isMenuOpen} location={location} onNavigate={() => setMenuOpen(false)} />
      <main id="content" class="shell-main" tabIndex={-1}>
        <Outlet location={location} />
      </main>
    </div>
  )
}

function AccountLinks() {
  if (session.value.state === 'IAM off') return <span class="soft account-name">Authentication is off</span>
  return (
    <>
      <Link to="/account" class="button quiet">
        <Icon name="person" />
        <span class="account-name">{session.value.name}</span>
        <span class="hidden">Your account</span>
      </Link>
      <Button kind="quiet" onPress={() => confirmLeave(signOut)}>
        Sign out
      </Button>
    </>
  )
}

interface ConnectionProps {
  readonly connection: Observable<Connection>
}

/** In the header of every page: the state of the connection, announced to screen readers when it changes. */
function ConnectionStatus({ connection }: ConnectionProps) {
  const { state } = useObservable(connection)
  return (
    <span class="connection" role="status">
      <Status state={state} />
    </span>
  )
}

/**
 * Explains what the state means for the displayed values, unless it is live. Not read aloud, because its text contains
 * seconds that change.
 */
function ConnectionBanner({ connection }: ConnectionProps) {
  const current = useObservable(connection)
  const { state, problem } = current
  const text = bannerTexts[state](current, useObservable(clock))
  const isBusy = state === 'connecting' || state === 'catching up'
  if (text === undefined) return null
  return (
    <div class={`banner ${isBusy ? 'busy' : 'warning'}`}>
      <span>{text}</span>
      {problem instanceof Problem && <span>{problemText(problem)}</span>}
      {state === 'closed' && <Button onPress={() => location.reload()}>Reconnect</Button>}
    </div>
  )
}

/** Shorter interruptions show no banner. */
const bannerDelayMs = 700

const bannerTexts: Readonly<Record<Connection['state'], (connection: Connection, now: number) => string | undefined>> =
  {
    connecting: ({ since }, now) => (now - since > bannerDelayMs ? 'Connecting: no live values yet.' : undefined),
    'catching up': ({ since }, now) =>
      now - since > bannerDelayMs ? 'Loading changes since the interruption.' : undefined,
    live: () => undefined,
    reconnecting: (connection, now) => {
      const age = duration(Math.max(now - connection.since, 1_000))
      return `Not connected: values are from ${age} ago, at ${clockTime(connection.since)}. ${retryText(connection, now)}`
    },
    stale: ({ since }, now) => `Stale: no message for ${duration(now - since)}, since ${clockTime(since)}.`,
    closed: () => 'Not connected: these values are old and do not change.',
  }

function retryText({ attempt = 1, nextAttemptAt = 0 }: Connection, now: number): string {
  const number = attempt > 1 ? ` (attempt ${attempt})` : ''
  if (nextAttemptAt <= now) return `Trying again now${number}.`
  return `Trying again in ${Math.ceil((nextAttemptAt - now) / 1_000)} s${number}.`
}

function clockTime(at: number): string {
  return new Date(at).toLocaleTimeString()
}

/**
 * Covers the whole page; the user cannot close it. It is a modal dialog because the page below may have a dialog open.
 * The page below cannot be used, and keeps its state.
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
      // After repeated attempts to close a dialog, browsers close it even if the page prevents this.
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
