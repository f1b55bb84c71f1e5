<?php
// A Laravel application without a skeleton: the session, the cookies and the token of forms as its group `web` has them.
// Beside it are `newsletter.php`, `handler.php` and `form.blade.php`.
require '/usr/share/php/Illuminate/autoload.php';
require __DIR__ . '/newsletter.php';

class Kernel extends Illuminate\Foundation\Http\Kernel
{
    protected $bootstrappers = [Illuminate\Foundation\Bootstrap\BootProviders::class];
    protected $middlewareGroups = [
        'web' => [
            Illuminate\Cookie\Middleware\EncryptCookies::class,
            Illuminate\Cookie\Middleware\AddQueuedCookiesToResponse::class,
            Illuminate\Session\Middleware\StartSession::class,
            Illuminate\Foundation\Http\Middleware\VerifyCsrfToken::class,
        ],
    ];
}

$app = new Illuminate\Foundation\Application(__DIR__);
$app->instance('env', 'production');
$app->instance('config', new Illuminate\Config\Repository([
    'app' => ['key' => str_repeat('k', 32), 'cipher' => 'AES-256-CBC', 'debug' => false, 'locale' => 'en', 'fallback_locale' => 'en'],
    'logging' => ['default' => 'errorlog', 'channels' => ['errorlog' => ['driver' => 'errorlog']]],
    'session' => [
        'driver' => 'file',
        'files' => __DIR__,
        'cookie' => 'session',
        'lifetime' => 5,
        'expire_on_close' => false,
        'lottery' => [0, 1],
        'path' => '/',
        'domain' => null,
    ],
    'view' => ['paths' => [__DIR__], 'compiled' => __DIR__],
]));
Illuminate\Support\Facades\Facade::setFacadeApplication($app);
$app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Illuminate\Foundation\Exceptions\Handler::class);
foreach (['Cookie\Cookie', 'Encryption\Encryption', 'Filesystem\Filesystem', 'Session\Session', 'Translation\Translation', 'View\View'] as $provider) {
    $app->register("Illuminate\\{$provider}ServiceProvider");
}
$kernel = $app->make(Kernel::class);
$app['router']->middleware('web')->group(function ($router): void {
    $router->view('/', 'form');
    require __DIR__ . '/handler.php';
});
$kernel->handle(Illuminate\Http\Request::capture())->send();
