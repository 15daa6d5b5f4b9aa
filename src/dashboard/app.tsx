import { useEffect, useState } from 'preact/hooks'
import { Router } from 'wouter-preact'
import { useHashLocation } from 'wouter-preact/use-hash-location'
import { ConnectionBanner, ConnectionMark } from '#dashboard/connection'
import { Brand, Icon } from '#dashboard/icons'
import { Navigation } from '#dashboard/navigation'
import { Outlet } from '#dashboard/outlet'
import SignInPage from '#dashboard/pages/sign-in/page'
import { freshCodes, RecoveryCodes } from '#dashboard/pages/sign-in/recovery-codes'
import { Boundary } from '#dashboard/parts/boundary'
import { Button } from '#dashboard/parts/button'
import { Leaving } from '#dashboard/parts/leaving'
import { Link } from '#dashboard/parts/link'
import { problemText } from '#dashboard/parts/problem-text'
import { Toasts } from '#dashboard/parts/toasts'
import { leave } from '#dashboard/parts/unsaved'
import { type Called, useCall } from '#dashboard/parts/use-call'
import { client, isIn, session, signOut } from '#dashboard/session'
import { endState, state } from '#dashboard/state'
import { ThemeSwitch } from '#dashboard/theme-switch'
import { after } from '#dashboard/world'

/** The whole page: who is not in signs in, who is sees the shell around the page that the address names. */
export function App() {
  const begun = useCall(() => client.restore(), [])
  const isInside = isIn()
  useEffect(() => {
    if (isInside) return
    endState()
    freshCodes.value = undefined
  }, [isInside])
  return (
    <Boundary>
      <Router hook={useHashLocation}>
        {freshCodes.value ? (
          <RecoveryCodes codes={freshCodes.value} />
        ) : isInside ? (
          <Shell />
        ) : (
          <Outside begun={begun} />
        )}
        <Leaving />
        <Toasts />
      </Router>
    </Boundary>
  )
}

const tryAgainMs = 5_000

/** Before it is known who looks, and when it is nobody. */
function Outside({ begun }: { readonly begun: Called<unknown> }) {
  const { problem, isLoading, again } = begun
  const isAway = problem !== undefined && !isLoading
  // Before a screen on a wall nobody stands who could press.
  useEffect(() => (isAway ? after(tryAgainMs, again) : undefined), [isAway, again])
  if (session.value.state !== 'unknown') return <SignInPage />
  return (
    <main class="sign-in">
      <Brand />
      {!isAway ? (
        <p class="loading" role="status">
          <span class="spinner" aria-hidden="true" /> Looking for the server…
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

function Shell() {
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [location] = useHashLocation()
  useEffect(() => setMenuOpen(false), [location])
  const { connection } = state()
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        To the content
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
  if (session.value.state === 'IAM off') return <span class="soft account-name">Nobody signs in here</span>
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
